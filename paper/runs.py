"""Many independent tasks on all cores, saved as they finish, so that an interrupted run goes on where it stopped.

A task is a JSON object with everything that decides its result, the seed included; its generator is made from that
object alone. So results depend neither on the number of jobs nor on the order in which they finish.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from graphveil.exceptions import PrivacyWarning

RUNS = Path(__file__).parent / "runs"
Task = dict[str, Any]
Record = dict[str, Any]


def generator(*parts: Any) -> np.random.Generator:
    """A generator that is a function of ``parts`` alone, whatever process asks."""
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def noise_seed(*parts: Any) -> int:
    """A seed for the noise of a simulated release."""
    return int(generator("noise", *parts).integers(2**31))


def collect(name: str, function: Callable[[Task], list[Record]], tasks: Iterable[Task], jobs: int) -> list[Record]:
    """The records of all tasks, in the order of the tasks; those done before are read from ``runs/name.jsonl``."""
    wanted = {_key(task): task for task in tasks}
    RUNS.mkdir(exist_ok=True)
    path = RUNS / f"{name}.jsonl"
    done = {key: records for key, records in _read(path) if key in wanted}
    missing = [task for key, task in wanted.items() if key not in done]
    if missing:
        with path.open("a") as file, _progress() as progress:
            file.write("\n" if path.stat().st_size else "")  # ends a line that an interruption left open
            bar = progress.add_task(name, total=len(wanted), completed=len(done))
            for task, records in _finished(function, missing, jobs):
                done[_key(task)] = records
                # One write of a whole line: an interruption leaves at most one broken line, which is ignored.
                file.write(json.dumps({"task": task, "records": records}) + "\n")
                file.flush()
                progress.advance(bar)
    return [record for key in wanted for record in done[key]]


def _finished(function: Callable[[Task], list[Record]], tasks: list[Task], jobs: int) -> Iterable[tuple[Task, list]]:
    if jobs == 1:
        yield from ((task, _alone(function, task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_alone, function, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _alone(function: Callable[[Task], list[Record]], task: Task) -> list[Record]:
    # One thread each: the cores are taken by other tasks, and the bits do not depend on how many there are.
    with threadpool_limits(1), warnings.catch_warnings():
        # The paper's settings (δ = 1/n, too few rows) would earn a person a warning; this is a simulation.
        warnings.simplefilter("ignore", PrivacyWarning)
        return function(task)


def _key(task: Task) -> str:
    return json.dumps(task, sort_keys=True)


def _read(path: Path) -> Iterable[tuple[str, list[Record]]]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            saved = json.loads(line)
        except json.JSONDecodeError:
            continue
        yield _key(saved["task"]), saved["records"]


def _progress() -> Progress:
    columns = (TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal)
