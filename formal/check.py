"""Let Coq check the proofs, list what each claim assumes, and compute the formulas again that the tests compare.

python formal/check.py           check; fails if a claim assumes anything, or an answer in answers.json is another
python formal/check.py --write   write answers.json anew, after a change of Formulas.v
"""

import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

FORMAL = Path(__file__).parent
BUILD = FORMAL.parent / "build" / "formal"
FORMULAS, ANSWERS = FORMAL / "theories" / "Formulas.v", FORMAL / "answers.json"
CLOSED = "Closed under the global context"


def run(*command: str) -> str:
    """Run a command in the build folder, and end with what it said if it fails."""
    ran = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stdout + ran.stderr)
    return ran.stdout


def coq(name: str, text: str) -> str:
    """What Coq prints about a file that is not kept."""
    (BUILD / f"{name}.v").write_text(text)
    return run("coqc", "-w", "none", "-Q", "theories", "Graphveil", f"{name}.v")


def claims() -> dict[str, int]:
    """The theorems of Claims.v, and their lines."""
    lines = (FORMAL / "theories" / "Claims.v").read_text().splitlines()
    return {m[1]: number for number, line in enumerate(lines, 1) if (m := re.match(r"Theorem (\w+)", line))}


def assumptions() -> dict[str, str]:
    """What Coq says that each claim assumes."""
    names = list(claims())
    prints = "".join(f'Print Assumptions Claims.{name}. Eval compute in "end"%string.\n' for name in names)
    said = coq("Assumptions", f"From Coq Require Import String.\nFrom Graphveil Require Claims.\n{prints}")
    parts = [" ".join(part.split()) for part in re.split(r'= "end"%string\s*: string', said)]
    return dict(zip(names, parts, strict=False))


def questions() -> list[tuple[str, list]]:
    """Arguments for every formula: the smallest, and numbers of the sizes that a release has."""
    draw = random.Random(0)  # noqa: S311 - not for noise

    def whole(bits: int) -> int:
        return draw.randrange(2 ** draw.randrange(1, bits + 1))

    def column_lists(count: int) -> list[list[int]]:
        columns = draw.randrange(1, 9)
        return [[whole(20) for _ in range(columns)] for _ in range(count)]

    asked: list[tuple[str, list]] = []
    for _ in range(16):
        person, row_square, columns = 1 + whole(10), 1 + whole(40), 1 + whole(9)
        small = 2 ** draw.randrange(0, 12)  # a ball that is smaller than the window, now and then
        for relation in ("", "added_"):
            asked.append((f"{relation}moment_square", [row_square, person]))
            asked.append((f"{relation}cell_square", [columns, 10, person]))
        asked += [(name, [person]) for name in ("histogram_square", "weight_square", "added_count_square")]
        asked.append(("sign_square", [columns, person]))
        for square in (row_square, small):
            asked.append(("mean_square", [*column_lists(2), square, person]))
            for name in ("square_square", "added_mean_square", "added_square_square"):
                asked.append((name, [*column_lists(2), *column_lists(1), square, person]))
    for weight in (0.0, 0.25, 0.5, 1.0):
        room = 2**40 - int(2**20 * weight / math.hypot(1.0, weight)) ** 2
        for p in (1, 2, 3, 7, 10, 50, 99, 100, 1000, 3000):
            asked += [("box_levels", [room, p]), ("ball_radius", [room, p])]
    return asked


def answers() -> list[dict]:
    """Every question with the answer that Coq computes."""
    asked = questions()

    def show(value: int | list[int]) -> str:
        return f"({value})" if isinstance(value, int) else f"[{'; '.join(map(str, value))}]"

    terms = ";\n".join(" ".join([name, *map(show, arguments)]) for name, arguments in asked)
    said = coq(
        "Answers",
        "From Coq Require Import ZArith List.\nFrom Graphveil Require Import Formulas.\nImport ListNotations.\n"
        f"Open Scope Z_scope.\nSet Printing Depth 1000000.\nEval vm_compute in [\n{terms}].\n",
    )
    values = [int(number) for number in re.findall(r"-?\d+", said.split(":")[0])]
    return [
        {"formula": name, "arguments": arguments, "answer": value}
        for (name, arguments), value in zip(asked, values, strict=True)
    ]


def stored(computed: list[dict]) -> str:
    """The content of answers.json; the hash tells, without Coq, whether Formulas.v has changed since."""
    lines = ",\n".join(json.dumps(entry) for entry in computed)
    return f'{{"formulas": "{hashlib.sha256(FORMULAS.read_bytes()).hexdigest()}", "answers": [\n{lines}\n]}}\n'


def main() -> None:
    """Check everything."""
    if shutil.which("coqc") is None:
        packages = " ".join((FORMAL / "packages.txt").read_text().split())
        sys.exit(f"Coq is not installed. On Debian 12: apt-get install --no-install-recommends {packages}")
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(FORMAL, BUILD)
    run("coq_makefile", "-f", "_CoqProject", "-o", "Makefile.coq")
    run("make", "-f", "Makefile.coq", f"-j{min(2, os.cpu_count() or 1)}")
    computed = stored(answers())
    if "--write" in sys.argv[1:]:
        ANSWERS.write_text(computed)
    elif ANSWERS.read_text() != computed:
        sys.exit("answers.json is not what Coq computes: python formal/check.py --write, and read the changes.")
    found = assumptions()
    for name, line in claims().items():
        print(f"Claims.v:{line:<4} {name:<32} {found.get(name, 'nothing was printed')}")
    assuming = [name for name in claims() if found.get(name) != CLOSED]
    if assuming:
        sys.exit(f"These claims assume something: {', '.join(assuming)}")
    print(
        f"{len(found)} claims are proved without any axiom; {len(json.loads(computed)['answers'])} answers are alike."
    )


if __name__ == "__main__":
    main()
