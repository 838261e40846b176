"""The formulas of the program are those for which Coq has checked the theorems (formal/theories/Formulas.v).

formal/answers.json holds what Coq computes; `make proofs` computes it again. So this test needs no Coq.
"""

import hashlib
import json
import math
import types
from fractions import Fraction
from pathlib import Path

import pytest

import graphveil as gv
from graphveil.spec import sensitivity
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import CELL_LEVELS, MAX_SQUARE, RowGrid

FORMAL = Path(__file__).parents[2] / "formal"
STORED = json.loads((FORMAL / "answers.json").read_text())
PROGRAM = {  # in the words of Formulas.v; what takes the number of levels there knows it in the program
    "moment_square": "moment_sensitivity",
    "mean_square": "mean_sensitivity",
    "square_square": "square_sensitivity",
    "histogram_square": "histogram_sensitivity",
    "cell_square": "cell_sensitivity",
    "sign_square": "sign_sensitivity",
    "weight_square": "weight_sensitivity",
    "added_moment_square": "added_moment_sensitivity",
    "added_mean_square": "added_mean_sensitivity",
    "added_square_square": "added_square_sensitivity",
    "added_count_square": "added_count_sensitivity",
    "added_cell_square": "added_cell_sensitivity",
}


def answers(formula):
    return [(entry["arguments"], entry["answer"]) for entry in STORED["answers"] if entry["formula"] == formula]


def disagreements(module, formula):
    """Arguments for which the program's float is not the smallest one whose square is at least the exact square."""
    function = getattr(module, PROGRAM[formula])
    for arguments, square in answers(formula):
        given = list(arguments)
        if "cell" in formula:
            assert given.pop(1) == len(CELL_LEVELS)
        value = function(*given)
        smallest = value == 0.0 or Fraction(math.nextafter(value, 0.0)) ** 2 < square
        if not (smallest and square <= Fraction(value) ** 2):
            yield arguments


@pytest.mark.parametrize("formula", PROGRAM)
def test_the_program_computes_what_was_checked(formula):
    assert len(answers(formula)) >= 16
    assert not list(disagreements(sensitivity, formula))


def test_every_sensitivity_of_the_program_is_compared():
    assert set(PROGRAM.values()) == set(sensitivity.__all__)


def test_answers_belong_to_the_formulas_as_they_are():
    found = hashlib.sha256((FORMAL / "theories" / "Formulas.v").read_bytes()).hexdigest()
    assert STORED["formulas"] == found, "run `make proofs`, and read what it says"


MUTANTS = [  # (formula, what the program says, what a mistake would make of it)
    ("moment_square", "sqrt_round_up(2 * (rows_per_person", "sqrt_round_up(Fraction(128, 100) * (rows_per_person"),
    ("moment_square", "2 * (rows_per_person * total_square) ** 2", "2 * rows_per_person * total_square**2"),
    ("mean_square", "4 * max(weights) ** 2 * row_square", "2 * max(weights) ** 2 * row_square"),
    ("mean_square", "4 * max(weights) ** 2", "4 * min(weights) ** 2"),
    ("mean_square", "(weight * width) ** 2", "weight * width**2"),
    ("square_square", "min(window, 2 * (max(weights) * ball) ** 2)", "min(window, (max(weights) * ball) ** 2)"),
    (
        "square_square",
        "math.isqrt(row_square) + 1 + math.isqrt(sum(c * c for c in centre)) + 1) ** 2",
        "math.isqrt(row_square) + math.isqrt(sum(c * c for c in centre))) ** 2",
    ),
    ("histogram_square", "2 * rows_per_person**2", "2 * rows_per_person"),
    ("cell_square", "2 * n_columns * len(CELL_LEVELS)", "2 * n_columns"),
    ("sign_square", "((n_columns + 1) ** 2 // 4)", "(n_columns**2 // 4)"),
    ("sign_square", "4 * rows_per_person**2", "rows_per_person**2"),
    ("weight_square", "return float(rows_per_person)", "return 0.8 * rows_per_person"),
    (
        "added_moment_square",
        "sqrt_round_up((rows_per_person * total_square) ** 2)",
        "0.8 * rows_per_person * total_square",
    ),
    ("added_mean_square", "(max(weights) * ball) ** 2))", "max(weights) * ball**2))"),
    ("added_square_square", "_distance_in_ball(row_square, centre) ** 2", "_distance_in_ball(row_square, centre)"),
    ("added_count_square", "return float(rows_per_person)", "return 0.8 * rows_per_person"),
    ("added_cell_square", "(n_columns * len(CELL_LEVELS) * rows_per_person**2)", "(n_columns * rows_per_person**2)"),
    ("added_mean_square", "math.isqrt(row_square) + 1", "math.isqrt(row_square)"),
    ("moment_square", "import sqrt_round_up", "import sqrt_round_up as _up\nsqrt_round_up = lambda x: _up(x) / 2**0.5"),
]


@pytest.mark.parametrize(("formula", "right", "wrong"), MUTANTS)
def test_a_mistake_is_noticed(formula, right, wrong):
    source = Path(sensitivity.__file__).read_text()
    assert right in source
    mutant = types.ModuleType("mutant")
    exec(
        source.replace(right, wrong).replace("import math\n", "import math\nfrom fractions import Fraction\n"),
        mutant.__dict__,
    )
    assert list(disagreements(mutant, formula))


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
def test_rows_get_the_lattices_that_were_checked(weight):
    boxes, balls = (
        {tuple(arguments): answer for arguments, answer in answers(f)} for f in ("box_levels", "ball_radius")
    )
    for p in (1, 2, 3, 7, 10, 50, 99, 100, 1000, 3000):
        box = RowGrid.of(gv.Domain(bounds=(-1, 1), n_features=p), Constant(weight=weight) if weight else None)
        ball = RowGrid.of_ball(p, 1.0, weight)
        assert box.levels == boxes[MAX_SQUARE - box.constant**2, p]
        assert box.row_square == p * box.levels**2
        assert ball.ball == balls[ball.row_square, p]
        assert ball.row_square == MAX_SQUARE - ball.constant**2
