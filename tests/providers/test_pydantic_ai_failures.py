"""What the failures of an agent's run mean, and what is wrong with an agent that is no agent."""

import sys
from pathlib import Path

import pytest
from pydantic_ai import exceptions
from pydantic_ai.messages import RetryFeedbackPart, RetryInfo

from engine_intelligence import Deadlines, SetupError
from engine_intelligence.host.context import KindContext
from engine_intelligence.host.kinds import make_backend
from engine_intelligence.providers.agent_failures import agent_failure
from engine_intelligence.providers.pydantic_ai import Options

KEY = "sk-proj-Zk81Qm4TtX9bWvR2nLpY"


def http(status: int, code: str | None = None, **headers: str) -> exceptions.ModelHTTPError:
    body = {"code": code, "message": f"your key is {KEY}"}
    return exceptions.ModelHTTPError(
        status, "m", body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def of_category(
    category: type[exceptions.ModelQuotaExceededError | exceptions.ModelContextWindowExceededError],
) -> exceptions.ModelHTTPError:
    """As Pydantic AI raises what it has understood from the words of a service."""
    return exceptions.ModelHTTPError.for_category(
        category, status_code=400, model_name="m", body={"message": KEY}
    )


def nothing_said() -> exceptions.UnexpectedModelBehavior:
    from pydantic_ai.exceptions import ToolRetryError

    error = exceptions.UnexpectedModelBehavior("Exceeded maximum output retries (1)")
    error.__cause__ = ToolRetryError(
        RetryFeedbackPart(content="Say something.", retry=RetryInfo(cause="no_output"))
    )
    return error


@pytest.mark.spec("E1", "E2")
@pytest.mark.parametrize(
    ("error", "reason", "transient"),
    [
        (http(401), "auth", False),
        (http(403), "auth", False),
        (http(402), "rate-limited", False),
        (http(404), "unavailable", False),
        (http(400), "refused", False),
        (http(422), "refused", False),
        (http(429), "rate-limited", True),
        (http(429, "insufficient_quota"), "rate-limited", False),
        (http(500), "unavailable", True),
        (http(503), "unavailable", True),
        (http(529), "unavailable", True),
        (of_category(exceptions.ModelQuotaExceededError), "rate-limited", False),
        (of_category(exceptions.ModelContextWindowExceededError), "refused", False),
        (exceptions.ModelRateLimitError("m", KEY), "rate-limited", True),
        (exceptions.ModelOverloadedError("m", KEY), "unavailable", True),
        (exceptions.ModelServerError("m", KEY), "unavailable", True),
        (exceptions.ModelAuthenticationError("m", KEY), "auth", False),
        (exceptions.ModelNotFoundError("m", KEY), "unavailable", False),
        (exceptions.ModelRequestRejectedError("m", KEY), "refused", False),
        (exceptions.ModelConnectionError("m", KEY), "network", True),
        (exceptions.ModelTimeoutError("m", KEY), "network", True),
        (exceptions.ModelRequestTimeout("m", 1.0), "timeout", True),
        (exceptions.ModelAPIError("m", KEY), "other", False),
        (exceptions.ContentFilterError(KEY, body=KEY), "refused", False),
        (exceptions.OutputTokenLimitExceeded(KEY), "truncated", False),
        (nothing_said(), "empty", False),
        (exceptions.UnexpectedModelBehavior(KEY, body=KEY), "protocol", False),
        (exceptions.UsageLimitExceeded(KEY), "refused", False),
        (exceptions.ConcurrencyLimitExceeded(KEY), "rate-limited", True),
        (exceptions.RunTimedOut(KEY), "timeout", False),
        (exceptions.RunCancelled(KEY), "other", False),
        (exceptions.UserError(KEY), "other", False),
        (exceptions.FallbackExceptionGroup("all failed", [http(503), http(401)]), "auth", False),
    ],
    ids=lambda value: f"{type(value).__name__}" if isinstance(value, Exception) else str(value),
)
def test_each_failure_of_a_run_has_a_reason_and_words_of_our_own(
    error: Exception, reason: str, transient: bool
) -> None:
    failure = agent_failure(error)
    assert failure is not None
    assert (failure.reason, failure.transient) == (reason, transient)
    assert KEY not in failure.cause
    assert str(failure) == failure.cause  # what keeps keys out of texts leaves it whole


def test_what_the_agents_own_code_raises_is_left_as_it_is() -> None:
    assert agent_failure(LookupError("there is no gate")) is None


@pytest.mark.spec("E1")
@pytest.mark.parametrize(
    ("error", "wait_s"),
    [
        (http(429, retry_after="30"), 30.0),
        (http(429, retry_after_ms="20", retry_after="90"), 0.02),
        (http(429), None),
        (exceptions.ModelRateLimitError("m", "slow down", retry_after=7.0), 7.0),
    ],
)
def test_the_wait_that_a_service_asks_for_is_carried(error: Exception, wait_s: float | None) -> None:
    failure = agent_failure(error)
    assert failure is not None
    assert failure.retry_after_s == wait_s


# What a configuration may name


@pytest.fixture
def minds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])


def made(**options: object) -> None:
    make_backend("pydantic-ai", options, KindContext(Deadlines()), "host.toml: providers.gatekeeper")


@pytest.mark.spec("H4")
@pytest.mark.parametrize(
    ("agent", "reason", "words"),
    [
        ("agent_minds", "bad-agent", 'write it as "package.module:name"'),
        ("__main__:gatekeeper", "bad-agent", "the game's main module"),
        ("no_such_minds:gatekeeper", "bad-agent", "there is no module 'no_such_minds'"),
        ("agent_minds:nobody", "bad-agent", "has no agent 'nobody'"),
        ("agent_minds:no_agent", "bad-agent", "is str, and no agent"),
        ("agent_minds:raises", "bad-agent", "raised RuntimeError"),
    ],
)
def test_what_is_no_agent_is_refused_with_what_to_do(
    minds: None, agent: str, reason: str, words: str
) -> None:
    with pytest.raises(SetupError, match=words) as fault:
        made(agent=agent)
    assert fault.value.reason == reason


@pytest.mark.spec("H4", "P4")
@pytest.mark.parametrize("key", ["model", "instructions", "temperature", "max_tokens", "base_url"])
def test_what_belongs_to_the_agent_is_refused_where_it_is_not(minds: None, key: str) -> None:
    with pytest.raises(SetupError, match=f"has no {key}; it is the agent's own") as fault:
        made(agent="agent_minds:gatekeeper", **{key: "x"})
    assert fault.value.reason == "config-invalid"


@pytest.mark.spec("D2")
@pytest.mark.parametrize(("name", "value"), [("attempts", 0), ("history_tokens", -1)])
def test_a_bad_option_is_refused_by_name_and_value(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        Options(agent="minds:gatekeeper", **{name: value})  # type: ignore[arg-type]
