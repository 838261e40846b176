"""For tests and doctests alike."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _releases_of_other_tests_do_not_count():
    counted = sys.modules.get("graphveil.ledger.without_ledger")
    if counted is not None:
        counted.forget_releases()
