"""Several providers in the place of one: they are asked in order, until one begins to answer.

    backend = FallbackBackend({"cloud": cloud, "local": local}, first_text_s=30)
    provider = provider_over(backend, "gatekeeper", store=store)

Up to the first text of an answer another can still be asked. After it a failure is the Activity's failure: nobody goes on in
the middle of somebody else's sentence. The Host keeps the turns, so that each of them can continue a conversation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from math import inf

import msgspec

from engine_intelligence.contracts import Clock
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.failure import FailureReason
from engine_intelligence.providers.backend import Backend
from engine_intelligence.providers.begun import Begun, begin
from engine_intelligence.providers.options import check_number, check_text
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.scrubbing import describe_exception, presentable, scrub, where_raised

_log = logging.getLogger(__name__)

AVOIDED_S = 30.0
"""For so long one that failed is asked last: what Envoy gives a host that it found to be failing (`base_ejection_time`)."""

# What says something about a service, and not about one answer of it.
_OF_THE_SERVICE: frozenset[FailureReason] = frozenset(
    ("auth", "rate-limited", "network", "timeout", "crashed", "unavailable")
)


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host's configuration may say. A bad value raises `ValueError` that names field and value."""

    providers: tuple[str, ...]
    """Ids of two or more other providers of the same configuration, the first to be asked first."""
    first_text_s: float | None = None
    """How long each but the last may take to its first text, in seconds, 0.001 to 86400; `None`: an even share of the Host's
    `first_text_s`."""

    def __post_init__(self) -> None:
        if len(self.providers) < 2:
            raise ValueError(f"providers must name two or more providers, not {list(self.providers)!r}")
        for name in self.providers:
            check_text("providers", name)
            if self.providers.count(name) > 1:
                raise ValueError(f"providers must name each provider once, not {name!r} twice")
        if self.first_text_s is not None:
            check_number("first_text_s", self.first_text_s, least=0.001, most=86_400)


class _Member:
    """One of those that can be asked."""

    def __init__(self, id: str, backend: Backend) -> None:
        self.id = id
        self.backend = backend
        self.avoided_until = -inf


class FallbackBackend:
    """A `Backend` that asks several, which belong to it. It belongs to the thread of one running event loop."""

    def __init__(
        self, members: Mapping[str, Backend], *, first_text_s: float, clock: Clock = time.monotonic
    ) -> None:
        """`members` are asked in their order, by names that stay the same; each but the last asked has `first_text_s`."""
        self._members = [_Member(id, backend) for id, backend in members.items()]
        self._first_text_s = first_text_s
        self._clock = clock

    def warm(self) -> None:
        """Warm the first: the others may never be asked."""
        self._members[0].backend.warm()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The first answer that begins. One that was `refused` is not asked for elsewhere: what one declines to say is not
        shopped around.
        """
        begun, member = await self._first_to_begin(prompt)
        async with aclosing(begun.whole()) as pieces:
            async for piece in pieces:
                yield _claimed(piece, member.id) if isinstance(piece, Finish) else piece

    async def close(self) -> None:
        """Close them all. Raises the first of what they raise, once each was closed."""
        ends = await asyncio.gather(*(each.backend.close() for each in self._members), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _first_to_begin(self, prompt: Prompt) -> tuple[Begun, _Member]:
        now = self._clock()
        order = sorted(
            self._members, key=lambda each: now < each.avoided_until
        )  # stable: else in their order
        failures: dict[str, ProviderError] = {}
        for member in order:
            try:
                begun = await self._begun(member, prompt, None if member is order[-1] else self._first_text_s)
            except ProviderError as error:
                if error.reason == "refused":
                    raise
                failures[member.id] = error
                self._failed(member, error)
            else:
                member.avoided_until = -inf
                return begun, member
        raise _told([(each.id, failures[each.id]) for each in self._members])

    async def _begun(self, member: _Member, prompt: Prompt, within_s: float | None) -> Begun:
        """An answer of which text has come. Raises `ProviderError`, whatever was raised."""
        limit = asyncio.timeout(within_s)
        try:
            async with limit:
                begun = await begin(member.backend.answer(_seen_by(member.id, prompt)))
        except ProviderError:
            raise
        except Exception as error:  # noqa: BLE001 - a border: what one raises is not to keep the next from being asked
            if limit.expired():
                raise ProviderError(f"there was no text for {within_s:g} seconds", reason="timeout") from None
            where = where_raised(error.__traceback__)
            _log.warning("provider %r: %s, raised at %s", member.id, describe_exception(error), where)
            raise ProviderError(describe_exception(error)) from None
        if not begun.has_text:
            raise ProviderError("the provider ended without any text", reason="empty")
        return begun

    def _failed(self, member: _Member, error: ProviderError) -> None:
        if error.reason in _OF_THE_SERVICE:
            member.avoided_until = self._clock() + max(AVOIDED_S, error.retry_after_s or 0.0)
        _log.warning(
            "provider %s failed before its first text (%s: %s)",
            presentable(member.id),
            error.reason,
            scrub(error.cause),
        )


def create(
    options: Options, make_member: Callable[[str, float], Backend], *, first_text_s: float, where: str
) -> FallbackBackend:
    """A backend over what `make_member` makes of each id and of the seconds that it has to its first text.

    `first_text_s` is the deadline of the Host. Raises `SetupError` with reason `config-invalid`, which says `where`, if the
    options leave nothing of it for the last.
    """
    count = len(options.providers)
    each_s = options.first_text_s
    if each_s is None:
        each_s = first_text_s / count  # then the last has as long as each of the others, whatever they take
    elif each_s * (count - 1) >= first_text_s:
        raise SetupError(
            "config-invalid",
            f"{where}: with first_text_s = {each_s:g} the providers before the last take up the {first_text_s:g} seconds "
            "that an Activity has: give them less, or raise first_text_s in [deadlines].",
        )
    return FallbackBackend({id: make_member(id, each_s) for id in options.providers}, first_text_s=each_s)


def _told(failures: Sequence[tuple[str, ProviderError]]) -> ProviderError:
    """What is told if all have failed: the last of the list speaks, or who is free soonest where all are asked too much."""
    _, last = failures[-1]
    wait_s = last.retry_after_s
    if all(error.reason == "rate-limited" for _, error in failures):
        wait_s = min((e.retry_after_s for _, e in failures if e.retry_after_s is not None), default=None)
    listed = ", ".join(f"{id} ({error.reason})" for id, error in failures)
    return ProviderError(f"no provider answered: {listed}", reason=last.reason, retry_after_s=wait_s)


# Who has made a turn is kept with it: an id of one service means nothing to another, and is none of its business.


def _claimed(finish: Finish, id: str) -> Finish:
    if finish.remote is None:
        return finish
    return msgspec.structs.replace(finish, remote=msgspec.json.encode((id, finish.remote)).decode())


def _seen_by(id: str, prompt: Prompt) -> Prompt:
    """The prompt with the remote ids that are of the provider `id`, and no others."""
    history = tuple(msgspec.structs.replace(turn, remote=_own_remote(id, turn)) for turn in prompt.history)
    return msgspec.structs.replace(prompt, history=history)


def _own_remote(id: str, turn: Turn) -> str | None:
    if turn.remote is None:
        return None
    try:
        maker, remote = msgspec.json.decode(turn.remote, type=tuple[str, str])
    except msgspec.DecodeError:
        return None  # from before the provider of this name was a fallback
    return remote if maker == id else None
