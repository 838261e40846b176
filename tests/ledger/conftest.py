"""What the tests of the ledger share: where a file is, and that nothing is drawn."""

import pytest

from graphveil.privacy import noise


@pytest.fixture
def path(tmp_path):
    """Where there is no ledger yet."""
    return tmp_path / "ledger.db"


@pytest.fixture
def no_draw(monkeypatch):
    """Fail the test if noise is asked for."""
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda *arguments: pytest.fail("noise was drawn"))
