"""The page of figures shows what was recorded."""

import json

import reliability


def test_the_page_shows_the_recorded_figures() -> None:
    record = json.loads(reliability.RECORD.read_text(encoding="utf-8"))
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert reliability.with_figures(page, record) == page


def test_the_recorded_campaign_found_no_violation_and_every_broken_build() -> None:
    record = json.loads(reliability.RECORD.read_text(encoding="utf-8"))
    assert record["violations"] == []
    assert record["reruns_with_another_trace"] == 0
    assert None not in record["broken_builds"].values()
