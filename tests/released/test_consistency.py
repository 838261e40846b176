"""A release file that contradicts itself does not load, whatever its checksum says."""

import copy

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import ReleaseFileError
from graphveil.released import file_format

ROWS = np.random.default_rng(0).normal(size=(400, 3))
BOX = gv.Domain(columns=["a", "b", "c"], bounds=(-4, 4))
ONE, FOUR = gv.Budget(1.0, 1e-6), gv.Budget(4.0, 1e-6)
RELEASES = {
    "plain": lambda: gv.release(ROWS, domain=BOX, budget=ONE, assume_centered=True, adaptive=False),
    "mean": lambda: gv.release(ROWS, domain=gv.Domain(data_norm=9.0), budget=ONE, adaptive=False),
    "labels": lambda: gv.release(
        (ROWS, ["x"] * 400), domain=BOX, budget=ONE, labels=gv.Labels(["x", "y"]), adaptive=False
    ),
    "paper": lambda: gv.release(ROWS, domain=BOX, budget=ONE, mechanism="paper", assume_centered=True, adaptive=False),
    "unproven": lambda: gv.release(
        ROWS, domain=BOX, budget=FOUR, mechanism="paper", allow_unproven=True, assume_centered=True, adaptive=False
    ),
    "seeded": lambda: gv.release(ROWS, domain=BOX, budget=ONE, random_state=1, assume_centered=True, adaptive=False),
    "adaptive": lambda: gv.release(ROWS, domain=BOX, budget=FOUR),
    "private norm": lambda: gv.release(
        np.repeat(ROWS, 5, axis=0), domain=gv.Domain(data_norm="private"), budget=FOUR, assume_centered=True
    ),
}


@pytest.fixture(scope="module", params=RELEASES)
def decoded(request):
    return file_format.decode(RELEASES[request.param]().to_bytes(), "it")


def load(header, arrays):
    return gv.Release.from_bytes(file_format.encode(header, arrays), "it")


def change(content, path, new):
    """Replace what stands at a path of keys by a function of it; -1 is the last round that holds moments."""
    kinds = [answer["query"]["kind"] for answer in content["rounds"]]
    last = max(number for number, kind in enumerate(kinds) if kind == "Moments")
    for key in path[:-1]:
        content = content[last if key == -1 else key]
    content[path[-1]] = new(content[path[-1]])


# What is changed, how, and what is said.
STEP, EVENT = ("rounds", -1, "step"), ("event",)
CONTRADICTIONS = {
    "charged less than the rounds cost": ((*EVENT, "mu"), lambda mu: 0.5 * mu, "cost more than was charged"),
    "charged no lattice": ((*EVENT, "eta"), lambda eta: 0.0, "cost more than was charged"),
    "charged more than the budget": ((*EVENT, "mu"), lambda mu: 50.0 * mu, "within its requested budget"),
    "a smaller budget": ((*EVENT, "budget", "epsilon"), lambda epsilon: 0.2 * epsilon, "within its requested budget"),
    "an event for other people": ((*EVENT, "rows_per_person"), lambda k: k + 1, "a person's rows"),
    "a domain for other people": (("domain", "rows_per_person"), lambda k: k + 1, "a person's rows"),
    "a smaller cost of a round": ((*STEP, "mu"), lambda mu: 0.5 * mu, "as large as its sensitivity"),
    "a larger sensitivity": ((*STEP, "sensitivity"), lambda delta: 1.01 * delta, "as large as its sensitivity"),
    "no sensitivity": ((*STEP, "sensitivity"), lambda delta: 1e-6, "lattice"),
    "noise a millionth": ((*STEP, "groups", 0, "sd"), lambda sd: 1e-6 * sd, "as large as its sensitivity"),
    "less noise": ((*STEP, "groups", 0, "sd"), lambda sd: 0.99 * sd, "as large as its sensitivity"),
    "less noise above the diagonal": (
        (*STEP, "groups", 1, "sd"), lambda sd: 0.5 * sd, "as large as its sensitivity"
    ),
    "endless noise": ((*STEP, "groups", 0, "sd"), lambda sd: 1e300, "words"),
    "no lattice term": ((*STEP, "eta"), lambda eta: 0.0, "lattice"),
    "a coarse lattice": ((*STEP, "lattice"), lambda exponent: exponent + 20, "lattice"),
    "a lattice beyond words": ((*STEP, "lattice"), lambda exponent: exponent - 100, "words"),
    "another group": ((*STEP, "groups", 0, "name"), lambda name: "trace", "shape"),
    "more records": ((*EVENT, "n_samples"), lambda n: 2 * n, "number of records"),
    "another factor": (("rounds", -1, "factor"), lambda factor: 1.001 * factor, "number of records"),
    "a factor that overflows": (("rounds", -1, "factor"), lambda factor: 1e308, "number of records"),
    "another norm of the question": (
        ("rounds", -1, "query", "radius"), lambda radius: 2.0 * radius, "norm of the domain|number of records"
    ),
    "versions that speak to a terminal": (("versions",), lambda v: {**v, "graphveil": "\x1b[2J"}, "printable words"),
    "versions without end": (("versions",), lambda v: {**v, "graphveil": "1" * 5000}, "printable words"),
}  # fmt: skip


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_contradiction_is_refused(decoded, what):
    path, new, said = CONTRADICTIONS[what]
    header, arrays = copy.deepcopy(decoded)
    change(header, path, new)
    with pytest.raises(ReleaseFileError, match=said):
        load(header, arrays)


@pytest.mark.parametrize("number", [1e308, -1e308, 1e12])
def test_numbers_that_neither_records_nor_noise_could_give(decoded, number):
    header, arrays = copy.deepcopy(decoded)
    for group in arrays:
        for name in [name for name in group if not name.startswith("query.")]:
            if group[name].size:
                kept, group[name][0] = group[name][0], number
                with pytest.raises(ReleaseFileError, match="neither records nor noise"):
                    load(header, arrays)
                group[name][0] = kept
    load(header, arrays)


@pytest.mark.parametrize("kind", ["adaptive", "private norm"])
def test_a_map_that_cannot_be_undone_is_named_when_it_is_used(kind):
    header, arrays = file_format.decode(RELEASES[kind]().to_bytes(), "it")
    for group in arrays:
        if "query.row_map.integers" in group:
            group["query.row_map.integers"][:] = 0.0
    release = load(header, arrays)
    assert "private" in repr(release)
    for use in (lambda: release.second_moment, lambda: release.noise_sd, lambda: gv.recover(release)):
        with pytest.raises(gv.exceptions.InvalidParameter, match="cannot be undone"):
            use()


def test_what_agrees_with_itself_loads(decoded):
    header, arrays = copy.deepcopy(decoded)
    change(header, (*STEP, "groups", 0, "sd"), lambda sd: sd * (1.0 + 1e-9))  # a little more noise than needed
    change(header, (*EVENT, "budget", "delta"), lambda delta: 2.0 * delta)  # a charge below the budget
    load(header, arrays)


@pytest.mark.parametrize("case", range(60))
@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_every_release_that_is_made_agrees_with_itself(case):
    """Random budgets, domains and kinds, to the ends of what is allowed."""
    chance = np.random.default_rng(case)
    p, n = int(chance.integers(1, 7)), int(chance.integers(1, 300))
    budget = gv.Budget(float(10.0 ** chance.uniform(-2.5, 1.5)), float(10.0 ** chance.uniform(-12, -1)))
    rows, kind = chance.normal(size=(n, p)), case % 4
    person = int(chance.choice([1, 2, 1000]))
    norm = float(2.0 ** chance.choice([-198.0, -3.0, 0.0, 3.0, 198.0]))
    domain = [
        gv.Domain(bounds=(-norm, 2.0 * norm), rows_per_person=person),
        gv.Domain(data_norm=norm, rows_per_person=person),
        gv.Domain(bounds=(-norm, norm), data_norm=0.5 * p**0.5, rows_per_person=person),
        gv.Domain(bounds=(-4, 4)),
    ][kind]
    augment = chance.choice(["none", "mean", "labels"])
    options = {"none": {"assume_centered": True}, "mean": {}, "labels": {"labels": gv.Labels(["x", "y"])}}[augment]
    adaptive = kind == 3 and augment != "labels"
    source = (rows, ["x"] * n) if augment == "labels" else rows
    try:
        made = gv.release(source, domain=domain, budget=budget, **options, adaptive=adaptive)
    except gv.exceptions.GuaranteeError:
        return  # no lattice is fine enough
    assert gv.Release.from_bytes(made.to_bytes()) == made
