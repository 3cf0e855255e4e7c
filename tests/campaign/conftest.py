"""What the tests of the campaign share."""

import platform

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most of the campaign needs Linux; its tests say so where they are skipped."""
    if platform.system() == "Linux":
        return
    for item in items:
        if "tests/campaign/" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="the campaign looks into /proc"))
