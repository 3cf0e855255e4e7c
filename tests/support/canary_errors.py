"""Exceptions that hold a secret in every place in which one has been seen."""

import json
import subprocess
from collections.abc import Callable, Mapping

from engine_intelligence import ProviderError
from support.canaries import encoded_forms


class Request:
    """A request as HTTP libraries hang it on their exceptions."""

    def __init__(self, secret: str) -> None:
        self.url = f"https://models.example/v1/chat?key={secret}"
        self.headers = {"Authorization": f"Bearer {secret}"}
        self.body = json.dumps({"messages": [{"role": "user", "content": secret}]})

    def __repr__(self) -> str:
        return f"<Request {self.url} {self.headers} {self.body}>"


class StatusError(Exception):
    """Like those of SDKs: the answer's body is the text, the request is an attribute."""

    def __init__(self, secret: str) -> None:
        body = {"error": {"message": f"Incorrect API key provided: {secret}.", "code": "invalid_api_key"}}
        super().__init__(f"Error code: 401 - {body}")
        self.request = Request(secret)

    def __repr__(self) -> str:
        return f"StatusError({self.request!r})"


class ShowsAll(Exception):
    """One whose every text is its secret."""

    def __init__(self, secret: str) -> None:
        super().__init__(Request(secret))
        self.secret = secret

    def __str__(self) -> str:
        return f"the request was {self.secret} and then it broke"

    def __repr__(self) -> str:
        return self.secret


class NoText(Exception):
    """One that raises another when it is shown."""

    def __init__(self, secret: str) -> None:
        super().__init__(secret)
        self.secret = secret

    def __str__(self) -> str:
        raise ValueError(self.secret)

    __repr__ = __str__


def _noted(secret: str) -> Exception:
    error = RuntimeError("it broke")
    error.add_note(f"Authorization: Bearer {secret}")
    return error


def _caused(secret: str) -> Exception:
    error = RuntimeError("it broke")
    error.__cause__ = StatusError(secret)
    return error


def _in_context(secret: str) -> Exception:
    error = RuntimeError("it broke")
    error.__context__ = ConnectionError(secret)
    return error


def _encoded(form: str) -> Callable[[str], BaseException]:
    return lambda secret: RuntimeError(f"the server does not know {encoded_forms(secret)[form]} at all")


ERRORS: Mapping[str, Callable[[str], BaseException]] = {
    "alone": RuntimeError,
    "announced": lambda secret: RuntimeError(f"Incorrect API key provided: {secret}. Look into the console."),
    "in the middle": lambda secret: RuntimeError(f"the gatekeeper found {secret} in the answer"),
    "header": lambda secret: ValueError(f"Illegal header value Authorization: Bearer {secret}"),
    "environment": lambda secret: RuntimeError(f"MODEL_API_KEY={secret} was not accepted"),
    "halves": lambda secret: Exception("the key is", secret[: len(secret) // 2], secret[len(secret) // 2 :]),
    "mapping key": KeyError,
    "bytes": lambda secret: ValueError(b"Bearer " + secret.encode()),
    "file name": lambda secret: FileNotFoundError(2, "No such file or directory", secret),
    "arguments": lambda secret: subprocess.CalledProcessError(
        1, ["agent", "--token", secret], secret, secret
    ),
    "timeout": lambda secret: subprocess.TimeoutExpired(f"agent --token {secret}", 3.0, secret.encode()),
    "address": lambda secret: ConnectionError(f"https://models.example/v1?access_token={secret} refused"),
    "status": StatusError,
    "shows all": ShowsAll,
    "no text": NoText,
    "group": lambda secret: ExceptionGroup(f"several {secret}", [ValueError(secret)]),
    "codec": lambda secret: UnicodeDecodeError("utf-8", secret.encode(), 0, 1, f"invalid {secret}"),
    "exit": SystemExit,
    "interrupt": KeyboardInterrupt,
    "provider error": lambda secret: ProviderError(f"the key {secret} was refused", reason="auth"),
    "note": _noted,
    "cause": _caused,
    "context": _in_context,
    **{f"in form: {form}": _encoded(form) for form in ("address", "JSON", "repr", "base64", "hexadecimal")},
}

# Those that end a thread, a callback or a whole event loop mean something else there than in a provider.
ORDINARY = [name for name, make in ERRORS.items() if issubclass(type(make("x")), Exception)]
