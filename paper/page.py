"""The tables of docs/paper.md, from the committed results: python -m paper.page writes them into the page."""

import re

from paper.files import RESULTS, read
from paper.settings import VARIANTS

PAGE = RESULTS.parents[1] / "docs" / "paper.md"
SHOWN_SIZES, SHOWN_EPSILONS = ("100", "400"), ("0.1", "0.5", "2.0")


def table(name: str) -> str:
    """Frobenius losses as a table: the paper's, and our three."""
    files = {variant: _read(f"{name}_{variant}.csv") for variant in VARIANTS}
    truth = _read(f"{name}_truth.csv")
    lines = [
        "| model | n | ε | the paper | as printed | corrected | graphveil | truth: as printed | truth: graphveil |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell, row in files["as_printed"].items():
        model, n, epsilon, norm = cell
        if norm == "F" and n in SHOWN_SIZES and epsilon in SHOWN_EPSILONS:
            losses = [float(files[variant][cell]["mean"]) for variant in VARIANTS]
            errors = [float(truth[cell][variant]) for variant in ("as_printed", "graphveil")]
            numbers = " | ".join(f"{value:.3g}" for value in losses + errors)
            lines.append(f"| {model} | {n} | {float(epsilon):g} | {row['paper_mean']} | {numbers} |")
    return "\n".join(lines)


def areas(name: str) -> str:
    """Areas under the ROC curves, mean and least of the replications."""
    rows = read(RESULTS / f"{name}.csv")
    lines = ["| what | variant | no privacy | ε = 1 | ε = 2 |", "|---|---|---:|---:|---:|"]
    for what in dict.fromkeys(row["what"] for row in rows):
        for variant in VARIANTS:
            mine = {row["epsilon"]: row for row in rows if (row["what"], row["variant"]) == (what, variant)}
            numbers = [f"{float(mine[e]['area_mean']):.3f} ({float(mine[e]['area_least']):.3f})" for e in mine]
            lines.append(f"| {what} | {variant.replace('_', ' ')} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def slopes(name: str) -> str:
    """Measured slopes with their intervals."""
    rows = read(RESULTS / f"{name}.csv")
    lines = ["| against | part | slope | 95% interval |", "|---|---|---:|---:|"]
    lines += [f"| {r['against']} | {r['part']} | {r['slope']} | {r['low']} to {r['high']} |" for r in rows]
    return "\n".join(lines)


def written(text: str) -> str:
    """``text`` with every generated block made anew."""
    makers = {"table": table, "areas": areas, "slopes": slopes}

    def block(match: re.Match[str]) -> str:
        kind, name = match["kind"], match["name"]
        return f"<!-- {kind} {name} -->\n{makers[kind](name)}\n<!-- end -->"

    return re.sub(r"<!-- (?P<kind>\w+) (?P<name>\w+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def _read(name: str) -> dict[tuple[str, ...], dict[str, str]]:
    return {tuple(row[key] for key in ("model", "n", "epsilon", "norm")): row for row in read(RESULTS / name)}


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
