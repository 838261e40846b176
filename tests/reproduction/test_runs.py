"""Runs resume where they stopped, and their results do not depend on the number of jobs."""

import json

import pytest

from paper import classify, runs

TASKS = [{"split": split, "seed": 7} for split in range(3)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUNS", tmp_path)
    return tmp_path


def test_two_jobs_give_what_one_gives(folder):
    alone = runs.collect("alone", classify.replicate, TASKS, jobs=1)
    assert runs.collect("together", classify.replicate, TASKS, jobs=2) == alone
    assert len(alone) == 3 * (2 + 3 * len(classify.FIGURE2["epsilons"]))


def test_an_interrupted_run_goes_on(folder):
    calls = []

    def work(task):
        calls.append(task["split"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [{"split": task["split"]}]

    with pytest.raises(KeyboardInterrupt):
        runs.collect("work", work, TASKS, jobs=1)
    path = folder / "work.jsonl"
    path.write_text(path.read_text() + json.dumps({"task": TASKS[1]})[:10])  # cut in the middle of a write
    assert runs.collect("work", work, TASKS, jobs=1) == [{"split": k} for k in range(3)]
    assert calls == [0, 1, 1, 2]
    assert runs.collect("work", work, TASKS[1:], jobs=1) == [{"split": 1}, {"split": 2}]
    assert calls == [0, 1, 1, 2], "all are on file"


def test_another_seed_is_another_task(folder):
    def work(task):
        return [{"draw": runs.generator(task).random()}]

    first, again, other = (runs.collect("work", work, [{"seed": seed}], jobs=1) for seed in (1, 1, 2))
    assert first == again != other
