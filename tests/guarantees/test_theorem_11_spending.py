"""Theorem 11: check and read first, charge the whole event, then draw; before the charge a failure spends nothing."""

import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import GraphveilError, PrivacyWarning, SourceError
from graphveil.privacy import noise

DOMAIN = gv.Domain(bounds=(-1, 1))
BUDGET = gv.Budget(1.0, 1e-6)
ROWS = np.zeros((30, 3))


class Diary:
    """A ledger that only remembers, together with when noise was drawn and rows were read."""

    def __init__(self, monkeypatch=None, refuse=False):
        self.entries, self.events, self.refuse = [], [], refuse
        if monkeypatch is not None:
            draw = noise.draw_discrete_gaussian

            def watched(scale, count):
                self.entries.append("draw")
                return draw(scale, count)

            monkeypatch.setattr(noise, "draw_discrete_gaussian", watched)

    def charge(self, dataset, event):
        if self.refuse:
            raise GraphveilError("no budget left")
        self.entries.append("charge")
        self.events.append((dataset, event))


def test_reading_then_charge_then_noise(monkeypatch):
    diary = Diary(monkeypatch)
    item = gv.release(
        ROWS,
        domain=DOMAIN,
        budget=BUDGET,
        ledger=diary,
        dataset="patients",
        progress=lambda done: diary.entries.append("read"),
        assume_centered=True,
        adaptive=False,
    )
    assert diary.entries[0] == "read"
    assert diary.entries.count("charge") == 1
    assert diary.entries.index("charge") > max(i for i, e in enumerate(diary.entries) if e == "read")
    assert "draw" not in diary.entries[: diary.entries.index("charge")]
    assert "draw" in diary.entries
    assert diary.events == [("patients", item.event)]


def test_what_is_charged_is_what_was_drawn():
    diary = Diary()
    item = gv.release(
        ROWS, domain=DOMAIN, budget=BUDGET, ledger=diary, dataset="d", assume_centered=True, adaptive=False
    )
    (_, event), *_ = diary.events
    assert math.sqrt(sum(r.step.mu**2 for r in item.answers)) <= event.mu
    assert sum(r.step.eta for r in item.answers) <= event.eta
    assert event.keeps_budget
    assert event.charged_mu == event.mu < BUDGET.mu


def test_a_refused_charge_draws_nothing(monkeypatch):
    diary = Diary(monkeypatch, refuse=True)
    with pytest.raises(GraphveilError, match="no budget left"):
        gv.release(ROWS, domain=DOMAIN, budget=BUDGET, ledger=diary, dataset="d", assume_centered=True, adaptive=False)
    assert "draw" not in diary.entries


class Broken:
    def __iter__(self):
        yield ROWS
        raise OSError(5, "disk")


class Interrupted:
    def __iter__(self):
        yield ROWS
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"source": Broken()}, GraphveilError),
        ({"source": Interrupted()}, KeyboardInterrupt),
        ({"source": ROWS[:0]}, GraphveilError),
        ({"source": [ROWS, ROWS[:, :2]]}, GraphveilError),
        ({"mechanism": "nonsense"}, GraphveilError),
        ({"mechanism": "paper", "budget": gv.Budget(1.5, 1e-6)}, GraphveilError),
        ({"labels": "median"}, GraphveilError),
        ({"adaptive": 2}, GraphveilError),
        ({"adaptive": "all"}, GraphveilError),
        ({"assume_centered": 1}, GraphveilError),
        ({"adaptive": True, "source": ROWS[:0]}, GraphveilError),
        ({"adaptive": True, "mechanism": "paper"}, GraphveilError),
        ({"adaptive": True, "assume_centered": False, "labels": gv.Labels(["a"])}, GraphveilError),
        ({"adaptive": 0}, GraphveilError),
        ({"random_state": "seed"}, GraphveilError),
        ({"random_state": -1}, GraphveilError),
        ({"budget": (1.0, 1e-6)}, GraphveilError),
        ({"domain": {"bounds": (-1, 1)}}, GraphveilError),
    ],
)
def test_a_failure_before_the_charge_spends_nothing(arguments, error):
    diary = Diary()
    call = {"source": ROWS, "domain": DOMAIN, "budget": BUDGET, **arguments}
    with pytest.raises(error):
        gv.release(call.pop("source"), **call, ledger=diary, dataset="d")
    assert diary.entries == []


def test_a_failure_of_the_sampler_after_the_charge_shows_nothing_and_stays_spent(monkeypatch):
    diary = Diary()

    def fails(scale, count):
        raise MemoryError

    monkeypatch.setattr(noise, "draw_discrete_gaussian", fails)
    with pytest.raises(MemoryError):
        gv.release(ROWS, domain=DOMAIN, budget=BUDGET, ledger=diary, dataset="d", assume_centered=True, adaptive=False)
    assert diary.entries == ["charge"]


def test_a_sampler_that_returns_too_little_is_caught(monkeypatch):
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda scale, count: np.zeros(count - 1, dtype=np.int64))
    with pytest.raises(GraphveilError, match="wrong number of values"):
        gv.release(ROWS, domain=DOMAIN, budget=BUDGET, assume_centered=True, adaptive=False)


def test_seeded_releases_are_charged_as_infinite_and_say_so():
    diary = Diary()
    item = gv.release(
        ROWS,
        domain=DOMAIN,
        budget=BUDGET,
        ledger=diary,
        dataset="d",
        random_state=1,
        assume_centered=True,
        adaptive=False,
    )
    assert diary.events[0][1].charged_mu == math.inf
    assert item.seeded
    assert not item.event.keeps_budget
    assert item.event.epsilon(1e-6) == math.inf
    assert item.event.delta(1.0) == 1.0
    assert "not private" in item.guarantee
    assert "not private" in repr(item)


def test_ledger_and_dataset_go_together():
    for arguments in ({"ledger": Diary()}, {"dataset": "d"}):
        with pytest.raises(GraphveilError, match="ledger and dataset must be given together"):
            gv.release(ROWS, domain=DOMAIN, budget=BUDGET, **arguments, assume_centered=True, adaptive=False)


def test_what_cannot_charge_is_refused_before_rows_are_read():
    with pytest.raises(GraphveilError, match=r"ledger must be a gv\.Ledger, got 'ledger\.db'"):
        gv.release(
            Broken(),
            domain=DOMAIN,
            budget=BUDGET,
            ledger="ledger.db",
            dataset="d",
            assume_centered=True,
            adaptive=False,
        )


def test_delta_of_one_over_n_is_warned_about():
    with pytest.warns(PrivacyWarning, match="at least 1/n"):
        gv.release(ROWS, domain=DOMAIN, budget=gv.Budget(1.0, 1 / 30), assume_centered=True, adaptive=False)
    gv.release(ROWS, domain=DOMAIN, budget=gv.Budget(1.0, 1 / 31), assume_centered=True, adaptive=False)


PATIENT = """
import itertools, sys, time, numpy as np, graphveil as gv
class Endless:
    def __iter__(self):
        for i in itertools.count():
            if i == 2:
                print("reading", flush=True)
            time.sleep(0.002)
            yield np.zeros((100, 5))
class Ledger:
    def charge(self, dataset, event):
        print("charged", flush=True)
gv.release(Endless(), domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, 1e-9), ledger=Ledger(), dataset="d")
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_while_reading_stops_soon_and_spends_nothing():
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip() == "reading"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)  # the pass itself never ends
    assert "KeyboardInterrupt" in err
    assert "charged" not in out


TWO_WORKERS = """
import os
os.sched_getaffinity = lambda process: {0, 1}
import numpy as np, graphveil as gv
from graphveil.rows import parallel
from graphveil.rows import accumulators
"""
SECOND_SUM_DOES_NOT_FIT = """
class Large(accumulators.RowMoments):
    made = 0
    def __init__(self, *arguments, **options):
        Large.made += 1
        if Large.made == 2:
            raise MemoryError
        super().__init__(*arguments, **options)
accumulators.RowMoments = Large
"""
INTERRUPTED_AGAIN_AND_AGAIN = """
def impatient(*arguments):
    raise KeyboardInterrupt
parallel._hand_over = impatient
"""
RELEASE = """
rows = np.zeros((30_000, 3))  # several pieces
gv.release(rows, domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, 1e-6), assume_centered=True, adaptive=False)
"""


@pytest.mark.parametrize(
    ("trouble", "error"),
    [(SECOND_SUM_DOES_NOT_FIT, "MemoryError"), (INTERRUPTED_AGAIN_AND_AGAIN, "KeyboardInterrupt")],
    ids=["memory", "interrupts"],
)
def test_a_failure_leaves_no_worker_waiting(trouble, error):
    process = subprocess.run(
        [sys.executable, "-c", TWO_WORKERS + trouble + RELEASE],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.stderr.strip().splitlines()[-1] == error


def test_a_budget_that_a_later_round_could_not_keep_is_refused_before_the_charge():
    """From ε = 1 upwards: either the release succeeds, or nothing is charged."""
    rows = np.random.default_rng(0).normal(size=(2000, 4))
    rows[:, 0] *= 0.01  # cells are counted: the most numbers of all questions
    outcomes = set()
    for epsilon in 2.0 ** np.arange(0, 8, 0.5):
        charged = []

        class Ledger:
            def charge(self, dataset, event):
                charged.append(event)  # noqa: B023

        try:
            gv.release(
                rows,
                domain=gv.Domain(bounds=(-40, 40)),
                budget=gv.Budget(float(epsilon), 1e-6),
                ledger=Ledger(),
                dataset="d",
            )
        except gv.exceptions.GuaranteeError:
            assert charged == []
            outcomes.add("refused")
        else:
            assert len(charged) == 1
            outcomes.add("released")
    assert outcomes == {"refused", "released"}


def passes(ledger_path, total, fails_at=0):
    """A ledger for some people, a source that notes every pass over its rows, and those notes."""
    ledger, begun = gv.Ledger(ledger_path), []
    ledger.create("people", gv.Budget(total, 1e-6))

    def batches():
        begun.append(1)
        if len(begun) == fails_at:
            raise OSError(5, "x")
        yield np.random.default_rng(0).normal(size=(3000, 2))

    return ledger, batches, begun


WIDE = gv.Domain(bounds=(-4, 4), n_features=2)


def test_what_cannot_be_charged_is_refused_before_a_row_is_read(tmp_path):
    ledger, batches, begun = passes(tmp_path / "ledger.db", 1.0)
    with pytest.raises(gv.exceptions.BudgetExceeded, match="was not charged"):
        gv.release(
            batches,
            domain=WIDE,
            budget=gv.Budget(2.0, 1e-6),
            ledger=ledger,
            dataset="people",
            assume_centered=True,
            adaptive=False,
        )
    with pytest.raises(gv.exceptions.LedgerError, match="no data set 'others'"):
        gv.release(
            batches,
            domain=WIDE,
            budget=gv.Budget(0.5, 1e-6),
            ledger=ledger,
            dataset="others",
            assume_centered=True,
            adaptive=False,
        )
    assert begun == []
    gv.release(
        batches,
        domain=WIDE,
        budget=gv.Budget(1.0, 1e-6),
        ledger=ledger,
        dataset="people",
        assume_centered=True,
        adaptive=False,
    )  # to the last bit
    assert len(ledger.history("people")) == 1


@pytest.mark.parametrize(("fails_at", "charged"), [(1, False), (3, True)])
def test_a_source_that_fails_after_the_charge_says_so(tmp_path, fails_at, charged):
    ledger, batches, _ = passes(tmp_path / "ledger.db", 4.0, fails_at)
    ask = {"domain": WIDE, "budget": gv.Budget(1.0, 1e-6), "assume_centered": True, "dataset": "people"}
    with pytest.raises(SourceError) as caught:
        gv.release(batches, **ask, ledger=ledger, key="a")
    assert ("had already been charged and stays charged. Key 'a' is spent" in str(caught.value)) == charged
    assert len(ledger.history("people")) == charged
