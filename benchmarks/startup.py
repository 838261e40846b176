"""How long until something is seen? python benchmarks/startup.py [--repeats 15]

Fresh processes, one kind after the other in every round: a yardstick (`import numpy`), `import graphveil`, `--help`,
and the studio until a browser could draw its first screen (the page, its styles, its script and the state), and until
it has the names of the columns. Medians; ratios are to the yardstick. Saves benchmarks/results/startup.csv.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "startup.csv"
PROGRAM = "import sys; from graphveil.cli.main import run; sys.exit(run())"
FIRST_SCREEN = ("", "report.css", "page.css", "page.js", "state")


def run(code, *arguments):
    """Seconds that a process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def open_studio(folder, *arguments):
    """Seconds until the first screen, and until the columns are known."""
    start = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, "studio", "--no-browser", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as process:
        url = json.loads(process.stdout.readline())["url"]
        for name in FIRST_SCREEN:
            urllib.request.urlopen(url + name).read()
        first = time.perf_counter() - start
        urllib.request.urlopen(url + "start").read()
        columns = time.perf_counter() - start
        process.terminate()
    return first, columns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=15)
    repeats, seconds = parser.parse_args().repeats, {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "patients.csv").write_text("age,bmi\n44,27\n", encoding="utf-8")
        for _ in range(repeats):
            found = {
                "import numpy": run("import numpy"),
                "import graphveil": run("import graphveil"),
                "graphveil --help": run(PROGRAM, "--help"),
            }
            for name, arguments in (("patients.csv", ["patients.csv"]), ("--demo", ["--demo"])):
                first, columns = open_studio(folder, *arguments)
                found |= {f"studio {name}: first screen": first, f"studio {name}: columns": columns}
            for what, took in found.items():
                seconds.setdefault(what, []).append(took)
    medians = {what: statistics.median(took) for what, took in seconds.items()}
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["what", "seconds", "times import numpy"])
        for what, median in medians.items():
            row = [what, f"{median:.3f}", f"{median / medians['import numpy']:.2f}"]
            table.writerow(row)
            print(" | ".join(row))


if __name__ == "__main__":
    main()
