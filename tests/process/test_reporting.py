"""What a Host's own handler makes of log records (rule E2)."""

import logging
import sys

import pytest

from engine_intelligence.host.reporting import ScrubbingFormatter

pytestmark = pytest.mark.spec("E2")


def record(name: str, message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord(name, logging.WARNING, "/somewhere/sdk.py", 12, message, args, info, "call")


FORMATTER = ScrubbingFormatter(logging.Formatter("%(levelname)s: %(name)s: %(message)s"))


def test_a_message_of_this_package_stays_as_it_is() -> None:
    shown = FORMATTER.format(record("engine_intelligence.runtime", "provider %r did not close", "ann"))
    assert shown == "WARNING: engine_intelligence.runtime: provider 'ann' did not close"


@pytest.mark.parametrize("name", ["some_sdk", "engine_intelligence_of_another", "asyncio", "root"])
def test_a_message_of_another_package_is_scrubbed(name: str) -> None:
    shown = FORMATTER.format(record(name, "the server refused %s today", "sk-proj-Zk81Qm4TtX9bWvR2nLpY"))
    assert shown == f"WARNING: {name}: the server refused [...] today"


def test_an_exception_is_shown_by_class_text_and_place_without_its_causes() -> None:
    try:
        try:
            raise KeyError("zanzibar")
        except KeyError as cause:
            raise ValueError("it broke") from cause
    except ValueError as error:
        shown = FORMATTER.format(record("some_sdk", "no luck", error=error))
    assert shown.startswith("WARNING: some_sdk: no luck (ValueError: it broke, raised at test_reporting.py:")
    assert "zanzibar" not in shown
    assert "\n" not in shown


def test_a_record_that_cannot_be_formatted_says_so_without_its_arguments() -> None:
    shown = FORMATTER.format(record("some_sdk", "%d refused", "zanzibar"))
    assert shown == "WARNING: some_sdk: a log record that cannot be read: TypeError"


def test_a_record_stays_whole_for_other_handlers() -> None:
    try:
        raise ValueError("zanzibar")
    except ValueError as error:
        given = record("some_sdk", "refused %s", "zanzibar", error=error)
    before = dict(given.__dict__)
    FORMATTER.format(given)
    assert given.__dict__ == before
    assert sys.exc_info() == (None, None, None)
