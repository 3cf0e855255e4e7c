"""What `engine-intelligence doctor --host-file` looks at: each provider of a TOML file, without and with a real request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine_intelligence.cli.checks import Finding, run_silently
from engine_intelligence.cli.dialogue import Answer
from engine_intelligence.cli.speaker import Speaker
from engine_intelligence.cli.text import one_line
from engine_intelligence.errors import SetupError
from engine_intelligence.failure import FailureReason, IntelligenceFailure
from engine_intelligence.host.config import HostPlan, plan_host
from engine_intelligence.host.keys import Found, Vendor
from engine_intelligence.host.kinds import Readiness, look_ready, make_backend
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FileSource

# A handful of tokens, whatever the bound of an answer is.
_QUESTION = "Say hello, in one word."

# So much of an answer is shown.
_SHOWN_CHARS = 60

ADVICE: Mapping[FailureReason, str] = {
    "auth": "Look at the key: it is missing, wrong, withdrawn, or may not use this model. `doctor` says where it was found.",
    "rate-limited": "Wait, or look at the account's limits and credit, and at the budgets of the file.",
    "network": "Look at base_url, and whether the service runs and can be reached from here; a proxy may stand between.",
    "timeout": "Ask again; if the model is slow to begin, raise first_text_s in [deadlines].",
    "stalled": "Ask again; if the model pauses for long, raise stall_s in [deadlines].",
    "truncated": "Ask again; if it persists, look at the service, or at what stands between it and here.",
    "empty": "Look at instructions and max_tokens: a model that reasons may use all of them before it says a word.",
    "refused": "Look at model and options: the service does not take this request.",
    "session-lost": "Ask again: each time is a new conversation.",
    "crashed": "Look at what the Host printed above; a process behind the provider ended.",
    "unavailable": "Look at model and base_url, whether the service knows that model, and whether it is overloaded.",
    "protocol": "Look at base_url: what answers there does not speak this interface; many want /v1 at the end.",
    "other": "Look at what the Host printed above.",
}
"""What to do about each reason of a provider failure (rule E1)."""


def plan_of(host_file: Path) -> HostPlan:
    """What a Host would offer with this file. Raises `SetupError` for what is wrong with the file as a whole."""
    return plan_host(FileSource(str(host_file)), IntelligenceLimits(), Deadlines())


def check_character(name: str, plan: HostPlan) -> Finding:
    """Whether a provider can be made: packages, options, model, key. Nothing is sent, and no factory is called."""
    entry = plan.providers[name].entry
    assert entry is not None, "a provider of a file comes from an entry"
    if entry.kind is None:
        return Finding(name, f"the factory {entry.factory}, which only a Host calls")
    try:
        ready = look_ready(entry.kind, entry.options, entry.context, entry.where)
        # What is left to find out is found by making it: a model, a program, a module of the user's.
        asyncio.run(make_backend(entry.kind, entry.options, entry.context, entry.where).close())
    except SetupError as error:
        return Finding(name, f"{entry.kind}: {error.reason}", error.message)
    return Finding(name, ", ".join([entry.kind, *_described(ready)]))


def _described(ready: Readiness) -> Iterator[str]:
    model: Any = getattr(ready.options, "model", None)
    if isinstance(model, str):
        yield f"model {model}"
    if ready.vendor is not None and ready.found is not None:
        yield f"at {_address(ready.options, ready.vendor, ready.found)}"
        yield f"key: {ready.found.place}"


def _address(options: Any, vendor: Vendor, found: Found) -> str:
    # The value of a variable is not told (rule E2), as little as the key is.
    in_variable = f"the address in {vendor.url_variable}" if found.access.base_url else vendor.name
    return options.base_url or in_variable


def ask_character(name: str, host_file: Path) -> Finding:
    """What a provider of the file answers to one short request, in a Host of its own."""
    subject = f"{name}, asked"
    try:
        dialogue, _ = run_silently(Speaker(host_file, name, None), seconds=0.0, question=_QUESTION)
    except (SetupError, ValueError) as error:
        return Finding(subject, "not asked", str(error))
    answer = dialogue.answer
    if answer is None or answer.outcome is None:
        why = dialogue.closed_reason or dialogue.notice
        return Finding(subject, "no answer", why or "Look at what the Host printed above.")
    if answer.failure is not None:
        return Finding(subject, answer.outcome, _advice(answer.failure))
    if answer.failed:
        return Finding(subject, "no answer", dialogue.closed_reason or answer.outcome)
    return Finding(subject, _told(answer))


def _advice(failure: IntelligenceFailure) -> str:
    reason = failure.detail.reason
    advice = next((text for known, text in ADVICE.items() if known == reason), failure.hint)
    wait_s = failure.detail.retry_after_seconds
    return advice if wait_s is None else f"{advice} It asks for {wait_s:g} seconds."


def _told(answer: Answer) -> str:
    first_s = answer.time_to_first_text_s or 0.0
    text = one_line(answer.text, _SHOWN_CHARS)
    return f"first text after {first_s:.2f} s, with the start of the Host; {answer.outcome}: {text}"
