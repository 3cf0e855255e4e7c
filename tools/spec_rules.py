"""Compares the rules of docs/spec.md with the tests that say they prove one: `python tools/spec_rules.py`."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marks import all_marks, arguments, tell

ROOT = Path(__file__).resolve().parent.parent

# Rules whose code comes with a later release, with the reason. One that has a test no longer belongs here.
NOT_YET: Mapping[str, str] = {}

_RULE = re.compile(r"^- \*\*([DESPMCBHL][1-9][0-9]*)\*\*", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    rules: tuple[str, ...]
    untested: tuple[str, ...]
    unknown: tuple[str, ...]
    not_yet: tuple[str, ...]
    built_after_all: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return bool(self.rules) and not (self.untested or self.unknown or self.built_after_all)


def rule_ids(spec: str) -> list[str]:
    """The ids of the rules, in order; raises ValueError where one is given twice."""
    ids = _RULE.findall(spec)
    twice = sorted({rule for rule in ids if ids.count(rule) > 1})
    if twice:
        raise ValueError(f"rule ids that stand twice: {', '.join(twice)}")
    return ids


def compare(spec: str, tests: Mapping[str, str], not_yet: Mapping[str, str] = NOT_YET) -> Report:
    rules = rule_ids(spec)
    marked = all_marks(tests, "spec")
    proved = {rule for rule, _ in marked}
    return Report(
        rules=tuple(rules),
        untested=tuple(rule for rule in rules if rule not in proved and rule not in not_yet),
        unknown=tuple(f"{rule} ({place})" for rule, place in marked if rule not in rules)
        + tuple(f"{rule} (NOT_YET)" for rule in not_yet if rule not in rules),
        not_yet=tuple(f"{rule} ({not_yet[rule]})" for rule in rules if rule in not_yet),
        built_after_all=tuple(f"{rule} ({place})" for rule, place in marked if rule in not_yet),
    )


def main() -> int:
    report = compare(*arguments(__doc__, ROOT / "docs" / "spec.md"))
    tell(
        (
            ("not yet built", report.not_yet),
            ("rules without a test", report.untested),
            ("marks that name no rule", report.unknown),
            ("listed as not yet built, but tested", report.built_after_all),
        )
    )
    proved = len(report.rules) - len(report.untested) - len(report.not_yet)
    print(f"{proved} of {len(report.rules)} rules are proved by a test")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
