"""Names of accounts and keys: one look, one name."""

import sys
import unicodedata

import pytest

from graphveil.exceptions import InvalidParameter
from graphveil.spec.names import check_name, look


@pytest.mark.parametrize(
    "name",
    [
        *(
            "patients 2026",
            "Größe",
            "пациенты",
            "Ασθενείς",
            "患者X線",
            "환자",
            "مرضى",
            "TNF-α",
            "β-blockers",
            "10 µg",
            "naïve",
        ),
        *(
            "visits; DROP TABLE x",
            "a/b\\c",
            "😀",
            "x" * 200,
            "Δ 2",
            "Ωμέγα",
            "İstanbul",
            "שלום",
            "日本 ひらがな カタカナ",
        ),
    ],
)
def test_names_of_people_who_mean_no_harm(name):
    assert check_name("dataset", name) == name


def test_names_are_composed():
    assert check_name("dataset", "cafe\u0301") == "caf\u00e9"
    assert check_name("dataset", "\u212b") == "\u00c5"  # the Ångström sign


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a  b", "a\tb", "a\u00a0b", "a\u2003b", "a\u200bb", "a\u00adb", "a\u202eb", "\ud800"]
)
def test_spaces_and_controls(name):
    with pytest.raises(
        InvalidParameter, match="printable characters, without spaces at the ends or two in a row"
    ) as no:
        check_name("key", name)
    assert str(no.value).startswith("key must be")
    assert str(no.value).isascii()


def test_nothing_invisible_passes():
    """Whatever Unicode calls default-ignorable (its table, by ranges) is refused, alone and within a name."""
    ignorable = [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, 0x2800]
    for low, high in [
        (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFFF0, 0xFFF8),
        (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    ]:  # fmt: skip
        ignorable += range(low, high + 1)
    for code in ignorable:
        for name in (chr(code), f"patients{chr(code)}", f"pat{chr(code)}ients"):
            with pytest.raises(InvalidParameter):
                check_name("dataset", name)


@pytest.mark.parametrize(
    "name", ["p\u0430tients", "\u0440atients", "patient\u0455 2026", "\u0391ge", "v\u0456sits", "so\u0585"]
)
def test_words_of_two_alphabets(name):
    with pytest.raises(InvalidParameter, match="must not mix alphabets within a word") as no:
        check_name("dataset", name)
    assert str(no.value).isascii()
    assert "\\u0" in str(no.value)


def test_every_character_gives_a_name_or_a_sentence():
    """All of Unicode, one by one: a composed name, or an error in ASCII that is not long."""
    refused = 0
    for code in range(sys.maxunicode + 1):
        said = ""
        try:
            name = check_name("dataset", f"x {chr(code)}")
        except InvalidParameter as no:
            said = str(no)
        assert said.isascii()
        assert len(said) < 300
        refused += said != ""
        if not said:
            assert name.isprintable()
            assert unicodedata.is_normalized("NFC", name)
            assert check_name("dataset", name) == name
    assert 0 < refused < sys.maxunicode


def test_look_forgets_case_and_width():
    assert look("Patients") == look("PATIENTS") == look("ｐａｔｉｅｎｔｓ") == look("𝐩atients") == "patients"
    assert look("Straße") == look("STRASSE")
    assert look("patients 1") != look("patients 2")
