"""In which way an agent of Pydantic AI failed (rule E1). Texts are our own, as in `failures`."""

from __future__ import annotations

import logging
import sys

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import declined, status_failure, unreadable, vendor_failure
from engine_intelligence.scrubbing import describe_exception

_log = logging.getLogger(__name__)

SERVICE = "the agent's model"

# Those whose exceptions `vendor_failure` knows.
_SDKS = ("openai", "anthropic")


def agent_failure(error: Exception, *, of_model: bool = False) -> ProviderError | None:
    """What `error` means, which a run of an agent raised; `None` for what the agent's own code raised.

    `of_model` says that it was raised where the model was listened to, and so by no tool.
    """
    from pydantic_ai import exceptions

    match error:
        case exceptions.FallbackExceptionGroup(exceptions=[*_, Exception() as last]):
            return agent_failure(
                last, of_model=of_model
            )  # the models were tried in order, and this is how the last failed
        case exceptions.ModelRequestTimeout():
            return ProviderError(f"{SERVICE} did not answer in time", reason="timeout", transient=True)
        case exceptions.ModelConnectionError() if _is_damaged(error):
            return unreadable(SERVICE)
        case exceptions.ModelConnectionError():
            return ProviderError(
                f"the connection to {SERVICE} could not be made or broke", reason="network", transient=True
            )
        case exceptions.ModelAPIError():
            return _model_failure(error)
        case exceptions.ContentFilterError():
            return declined(SERVICE)
        case exceptions.OutputTokenLimitExceeded():
            return ProviderError(f"{SERVICE} was cut off before it had an output", reason="truncated")
        case exceptions.UnexpectedModelBehavior() if _says_nothing(error):
            return ProviderError(f"{SERVICE} said nothing, also when it was asked again", reason="empty")
        case exceptions.UnexpectedModelBehavior():
            return ProviderError(
                f"the agent cannot use what its model answers: {_kind(error)}", reason="protocol"
            )
        case exceptions.UsageLimitExceeded():
            return ProviderError("the agent reached its own limit of usage", reason="refused")
        case exceptions.ConcurrencyLimitExceeded():
            return ProviderError("too many wait for the agent", reason="rate-limited", transient=True)
        case exceptions.RunTimedOut():
            return ProviderError("the agent reached its own limit of time", reason="timeout")
        case exceptions.AgentRunError():
            return ProviderError(f"the agent ended its run: {_kind(error)}", reason="other")
        case exceptions.UserError():
            _log.warning("an agent cannot run as it is written: %s", describe_exception(error))
            return ProviderError(
                "the agent cannot run as it is written; the Host's log says more", reason="other"
            )
        case _:
            return _sdk_failure(error, of_model=of_model)


def _model_failure(error: Exception) -> ProviderError:
    """What a model's service refused or failed with, by its status and code."""
    from pydantic_ai import exceptions

    # What Pydantic AI has found out about errors of services that name no code that is known here.
    code: str | None = None
    match error:
        case exceptions.ModelQuotaExceededError():
            code = "insufficient_quota"
        case exceptions.ModelContextWindowExceededError():
            code = "context_length_exceeded"
        case exceptions.ModelRateLimitError():
            code = "rate_limit_error"
        case exceptions.ModelUnavailableError():
            code = "overloaded_error"
        case exceptions.ModelServerError():
            code = "server_error"
        case exceptions.ModelAuthenticationError():
            code = "authentication_error"
        case exceptions.ModelNotFoundError():
            code = "not_found_error"
        case exceptions.ModelRequestRejectedError():
            code = "invalid_request_error"
        case _:
            cause = error.__cause__  # the SDK's own exception, of which Pydantic AI has made nothing
            told = _sdk_failure(cause, of_model=True) if isinstance(cause, Exception) else None
            if told is not None:
                return told
    assert isinstance(error, exceptions.ModelAPIError)
    status = headers = None
    body = error.body
    if isinstance(error, exceptions.ModelHTTPError):
        status, headers = error.status_code, error.headers
    is_exact = code in ("insufficient_quota", "context_length_exceeded")
    if code is not None and (is_exact or status is None):
        body = {"code": code}
    failure = status_failure(SERVICE, status, body, headers)
    if failure.retry_after_s is None:
        failure.retry_after_s = error.retry_after
    return failure


def _sdk_failure(error: Exception, *, of_model: bool) -> ProviderError | None:
    """What an exception of an SDK means that Pydantic AI passes on as it is, or of what an SDK stands on."""
    origin = type(error).__module__.partition(".")[0]
    if of_model and origin not in _SDKS:
        origin = next((name for name in _SDKS if name in sys.modules), "")
    failure = vendor_failure(error, sys.modules[origin], SERVICE) if origin in _SDKS else None
    if failure is None and of_model and _stumbled(error):
        return unreadable(SERVICE)
    return failure


def _stumbled(error: Exception) -> bool:
    """Whether it was raised by what reads the answers of models, which checks not all that it reads."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return place.startswith(("pydantic_ai.models.", *_SDKS)) and not isinstance(error, AssertionError)


def _is_damaged(error: BaseException) -> bool:
    """Whether a body came that could not be unpacked."""
    import httpx2

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, httpx2.DecodingError):
        cause = cause.__cause__
    return cause is not None


def _says_nothing(error: BaseException) -> bool:
    """Whether an agent gave up since its model had no output, which it was told as often as the agent allows."""
    retry = getattr(getattr(error.__cause__, "tool_retry", None), "retry", None)
    return getattr(retry, "cause", None) == "no_output"


def _kind(error: Exception) -> str:
    return type(error).__name__
