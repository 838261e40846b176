"""Every proof belongs to the code as it is, names a test that exists, and every guarantee in the code has a proof."""

import re

import pytest
import stamp_proofs
from stamp_proofs import PROOFS

ROOT = PROOFS.parents[3]
SRC = ROOT / "src" / "graphveil"


@pytest.mark.parametrize(("path", "name", "stamp"), stamp_proofs.claims(), ids=lambda v: getattr(v, "name", v))
def test_the_code_has_not_changed_under_its_proof(path, name, stamp):
    assert stamp == stamp_proofs.stamp_of(name), f"read {path.name} and {name} together, then renew the stamp"


@pytest.mark.parametrize("path", sorted(PROOFS.glob("*.md")), ids=lambda p: p.name)
def test_every_proof_proves_something_and_names_its_tests(path):
    text = path.read_text()
    assert stamp_proofs.LINE.search(text)
    assert len(re.findall(r"^Proves ", text, re.MULTILINE)) == len(stamp_proofs.LINE.findall(text))
    tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert tests
    for test in tests:
        assert (ROOT / test).exists(), test


def test_every_proof_that_the_code_names_exists_and_every_proof_is_named():
    named = {name for path in SRC.rglob("*.py") for name in re.findall(r"proofs/(\w+\.md)", path.read_text())}
    existing = {path.name for path in PROOFS.glob("*.md")}
    assert named == existing


def test_a_changed_line_changes_the_stamp(monkeypatch):
    name = "graphveil.privacy.calibration.calibrate_sd"
    before = stamp_proofs.stamp_of(name)
    text = stamp_proofs.source_of(name)
    assert "nextafter" in text
    assert "Guarantee" not in text, "a docstring may be reworded without reading the proof again"
    monkeypatch.setattr(stamp_proofs, "source_of", lambda _: text.replace("math.inf", "-math.inf"))
    assert stamp_proofs.stamp_of(name) != before


def test_a_function_that_is_gone_is_noticed():
    with pytest.raises(LookupError, match="does not exist"):
        stamp_proofs.stamp_of("graphveil.privacy.calibration.nothing")
