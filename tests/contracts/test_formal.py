"""The proofs that Coq checks are complete as texts, and the pages of the proofs name what was checked."""

import re
import sys
from pathlib import Path

import pytest
from stamp_proofs import PROOFS

FORMAL = Path(__file__).parents[2] / "formal"
THEORIES = sorted((FORMAL / "theories").glob("*.v"))
CLAIMS, FLOATS = (
    set(re.findall(r"^Theorem (\w+)", (FORMAL / "theories" / name).read_text(), re.MULTILINE))
    for name in ("Claims.v", "Floats.v")
)
LINK = re.compile(r"^Checked by Coq: (.+)$", re.MULTILINE)


def named():
    """Page and claim, for every claim that a page names."""
    for page in sorted(PROOFS.glob("*.md")):
        for line in LINK.findall(page.read_text()):
            for claim in re.findall(r"`(\w+)`", line):
                yield page.name, claim


def code(path):
    """A theory without its comments."""
    return re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("path", THEORIES, ids=lambda path: path.name)
def test_nothing_is_assumed_or_left_out(path):
    """`make proofs` asks Coq; this says it at once, and to those who have no Coq."""
    words = r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort|bypass_check|Unset Guard Checking)\b"
    assert not re.search(words, code(path))


def test_every_theory_is_checked():
    listed = re.findall(r"^theories/(\w+\.v)$", (FORMAL / "_CoqProject").read_text(), re.MULTILINE)
    assert sorted(listed) == [path.name for path in THEORIES]


def test_claims_are_proved_by_reference_alone():
    text = code(FORMAL / "theories" / "Claims.v")
    assert len(re.findall(r"^Proof\. exact: [\w.]+\. Qed\.$", text, re.MULTILINE)) == len(CLAIMS)
    assert text.count("Proof") == len(CLAIMS)


def test_pages_name_every_claim_and_no_other():
    assert {claim for _, claim in named()} == CLAIMS | FLOATS


def test_without_coq_the_check_says_what_to_install(monkeypatch):
    sys.path.insert(0, str(FORMAL))
    try:
        import check
    finally:
        sys.path.remove(str(FORMAL))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt-get install --no-install-recommends coq "):
        check.main()
