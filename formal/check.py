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
# Those on which Coq's library builds the real numbers; Floats.v speaks of reals, all other claims need no axiom.
AXIOMS_OF_REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


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


def claims() -> list[tuple[str, int, str]]:
    """File, line and name of every claim: the theorems of Claims.v and of Floats.v."""
    return [
        (file, number, found[1])
        for file in ("Claims", "Floats")
        for number, line in enumerate((FORMAL / "theories" / f"{file}.v").read_text().splitlines(), 1)
        if (found := re.match(r"Theorem (\w+)", line))
    ]


def assumptions() -> list[set[str]]:
    """The axioms that Coq says each claim rests on."""
    end = 'Eval compute in "end"%string.'
    prints = "".join(f"Print Assumptions {file}.{name}.\n{end}\n" for file, _, name in claims())
    said = coq("Assumptions", f"From Coq Require Import String.\nFrom Graphveil Require Claims Floats.\n{prints}")
    parts = said.split('= "end"%string')[:-1]
    if not all("Closed under the global context" in part or "Axioms:" in part for part in parts):
        sys.exit(said)
    return [set(re.findall(r"^([\w.]+)\s*:(?!\s*string)", part.replace("Axioms:", ""), re.MULTILINE)) for part in parts]


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
    unproved = []
    for (file, line, name), axioms in zip(claims(), assumptions(), strict=True):
        if not axioms <= (AXIOMS_OF_REALS if file == "Floats" else set()):
            unproved.append(name)
        print(f"{file}.v:{line:<4} {name:<32} {', '.join(sorted(axioms)) or 'no axiom'}")
    if unproved:
        sys.exit(f"These claims assume what they should not: {', '.join(unproved)}")
    print(f"{len(claims())} claims are proved; {len(json.loads(computed)['answers'])} answers are as stored.")


if __name__ == "__main__":
    main()
