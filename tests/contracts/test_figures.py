"""Every guarantee in figures that a page or a message gives: computed anew, and never prettier than it is."""

import ast
import re
from decimal import Decimal
from pathlib import Path

import pytest
from scipy.special import ndtr, ndtri

import graphveil as gv
from graphveil.auditing.result import Audit
from graphveil.report.privacy_card import privacy_card
from graphveil.spec.gdp import epsilon_from_mu

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
DELTA = 1e-6
# Numbers that speak of what an attacker can do, or of what several releases or rows amount to.
FIGURE = re.compile(r"\d%? right guess|right guess.*\d|\d (of|times in) 1,000|μ = 0\.\d|together \(δ|\d times as many")


def mu(epsilon, times=1.0):
    """What the noise of a release at ε is made for, so many times."""
    return times * gv.Budget(epsilon, DELTA).mu


def rows(k, epsilon):
    """The ε that holds for k rows where one was protected."""
    return epsilon_from_mu(mu(epsilon, k), DELTA)


def releases(k, epsilon):
    """The ε that holds for k releases together."""
    return epsilon_from_mu(mu(epsilon, k**0.5), DELTA)


def guesses(epsilon, times=1.0):
    """Right guesses in percent, at even odds."""
    return 100 * float(ndtr(mu(epsilon, times) / 2))


def found(epsilon, alarms):
    """People found in percent, at a share of false alarms."""
    return 100 * float(ndtr(ndtri(alarms) + mu(epsilon)))


def is_rounded_up(written, exact):
    """Not below the exact value, and above it by less than a unit of the last digit."""
    number = Decimal(written.replace(",", "").rstrip("%"))
    unit = Decimal(1).scaleb(number.as_tuple().exponent)
    return exact * (1 - 1e-12) <= number < Decimal(exact) + unit  # ε of one release at ε is ε but for a last digit


TABLES = {
    ("limitations.md", "rows instead of one"): lambda k: [
        *(rows(int(k), epsilon) for epsilon in (0.1, 1, 4)),
        guesses(1, int(k)),
    ],
    ("attacker.md", "ε (δ = 10⁻⁶)"): lambda epsilon: [
        mu(float(epsilon)),
        guesses(float(epsilon)),
        *(found(float(epsilon), alarms) for alarms in (0.01, 0.001)),
    ],
}
NUMBER = r"([\d.,]*\d)"
SENTENCES = {
    ("limitations.md", f"At ε = 1, δ = 10⁻⁶: two are {NUMBER}, five {NUMBER}, ten {NUMBER}, a hundred {NUMBER}"): [
        releases(k, 1) for k in (2, 5, 10, 100)
    ],
    ("attacker.md", f"right in at most {NUMBER} of 1,000 cases, {NUMBER} more"): [
        10 * guesses(1),
        10 * guesses(1) - 500,
    ],
    ("attacker.md", f"recognise at most {NUMBER} of 1,000 people"): [10 * found(1, 0.01)],
    ("attacker.md", f"e¹ to 1 would be {NUMBER}%"): [100 / (1 + 2.718281828459045**-1)],
    ("attacker.md", f"four releases at ε = 1 are one with μ = {NUMBER}, that is {NUMBER}% right guesses"): [
        mu(1, 2),
        guesses(1, 2),
    ],
    ("bounds-and-budget.md", "right guesses" + rf" \| {NUMBER}%" * 6): [guesses(e) for e in (0.1, 0.5, 1, 2, 4, 8)],
    ("ledger.md", rf"Ten releases at ε = 0.5 cost {NUMBER} together \(δ ="): [releases(10, 0.5)],
    ("privacy-officers.md", f"right at most {NUMBER} times in 1,000"): [10 * guesses(1)],
    ("security-testing.md", f"of {NUMBER} claimed"): [mu(4)],
}


def found_in(page, sentence):
    """Where a sentence stands on a page, however its lines are wrapped."""
    return re.finditer(sentence.replace(" ", r"\s+"), (ROOT / "docs" / page).read_text())


def table(page, corner):
    """The rows of the table whose first cell is ``corner``, with the numbers of their lines."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith(f"| {corner} |")]
    for i in range(start + 2, len(lines)):
        if not lines[i].startswith("|"):
            return
        yield i, [cell.strip() for cell in lines[i].strip("|").split("|")]


@pytest.mark.parametrize(("page", "corner"), TABLES)
def test_tables_are_rounded_up(page, corner):
    checked = 0
    for _, (key, *cells) in table(page, corner):
        exact = TABLES[page, corner](key)
        wrong = [pair for pair in zip(cells, exact, strict=True) if not is_rounded_up(*pair)]
        assert not wrong, key
        checked += len(cells)
    assert checked >= 20


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_sentences_are_rounded_up(page, sentence):
    (match,) = found_in(page, sentence)
    pairs = zip(match.groups(), SENTENCES[page, sentence], strict=True)
    assert not [pair for pair in pairs if not is_rounded_up(*pair)]


def test_no_figure_is_left_out():
    """What looks like such a figure stands in a line that is checked here."""
    checked = {(page, i) for page, corner in TABLES for i, _ in table(page, corner)}
    for page, sentence in SENTENCES:
        text = (ROOT / "docs" / page).read_text()
        for match in found_in(page, sentence):
            lines = range(text.count("\n", 0, match.start()), text.count("\n", 0, match.end()) + 1)
            checked |= {(page, i) for i in lines}
    for page in PAGES:
        for i, line in enumerate(page.read_text().splitlines()):
            header = line.startswith(("| rows instead", "| ε (δ"))
            assert header or not FIGURE.search(line) or (page.name, i) in checked, f"{page.name}:{i + 1}: {line}"


def test_the_figures_of_before_would_fail():
    """Negative controls: rounded to nearest, down, or up by more than a unit."""
    for written, exact in (("1.45", releases(2, 1)), ("390", rows(100, 1)), ("54.7%", guesses(1)), ("2.2", 2.05)):
        assert not is_rounded_up(written, exact)
    for written, exact in (("1.46", releases(2, 1)), ("3,908", rows(100, 4)), ("1.0", 1.0), ("2.1", 2.05)):
        assert is_rounded_up(written, exact)


# Names that hold a cost or what is left of a budget, alone or as a part: ``claimed_mu``, ``left["epsilon"]``.
COST = re.compile(r"(?<![A-Za-z])(epsilon|delta|mu|eta|spent|remaining)(?![A-Za-z(])")


def nearest_roundings(source):
    """Costs that a piece of code rounds to nearest, in an f-string, by ``format`` or by ``round``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            value = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("round", "format"):
            value = node.args[0]
        else:
            continue
        if COST.search(ast.unparse(value)):
            yield ast.unparse(node)


def test_no_code_rounds_a_cost_to_nearest():
    """``graphveil.spec.rounding`` has the formats for it: exact, up and down."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    found = {str(path.relative_to(ROOT)): list(nearest_roundings(path.read_text())) for path in sources}
    assert len(found) > 100
    assert {path: costs for path, costs in found.items() if costs} == {}


@pytest.mark.parametrize(
    "code",
    [
        'f"{budget.epsilon:g}"',
        'f"{self.claimed_mu:.4g}"',
        "f'{left[\"delta\"]:.4g}'",
        "round(event.mu, 3)",
        'f"{spent:.2f}"',
    ],
)
def test_the_code_of_before_would_fail(code):
    assert list(nearest_roundings(code))


def costs_in(text):
    """Numbers behind the letters and words of costs."""
    return [float(number) for number in re.findall(r"(?:[εδμη]|epsilon|delta|mu) (?:=|≥) ([\d.]+(?:[eE]-?\d+)?)", text)]


def test_messages_with_awkward_figures_are_conservative():
    """Figures that rounding to nearest would make smaller than they are."""
    epsilon, delta = 1.23456712, 1.0000003e-6
    budget = gv.Budget(epsilon, delta)
    made = gv.release(
        gv.simulate.gaussian_rows([[1.0]], 50, random_state=0), domain=gv.Domain(bounds=(-4, 4)), budget=budget
    )
    mu_, eta = made.event.mu, made.event.eta
    card = dict(privacy_card(made).facts)
    shown = costs_in(card["What it means"])
    assert [a >= b for a, b in zip(shown, [epsilon, delta], strict=True)] == [True, True]
    shown = costs_in(card["Other releases"])
    assert [a >= b for a, b in zip(shown, [mu_, eta], strict=True)] == [True, True]
    for answer in made.answers:
        (shown,) = costs_in(repr(answer))
        assert answer.step.mu <= shown < 1.002 * answer.step.mu
    audit = Audit("orthogonal", budget, 0.236749, 0.236751, 1.0, 0.95, "the best", 10)
    assert costs_in(repr(audit)) == [0.2368, 0.2367]
