"""`graphveil demo`: release, network and report of a bundled data set."""

import itertools
from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli._arguments import AsJson, expand_home
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import emit, progress_bar
from graphveil.cli.show import say_card

__all__ = ["demo"]

_EPSILON, _DELTA = 1.0, 1e-6
_SHOWN = 8


@command
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write; created if it does not exist.")] = Path(
        "graphveil-demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Release, fit and report on a bundled survey: health insurance, 5,912 people, 20,190 person-years.

    Example: graphveil demo
    """
    from graphveil.cli._network_formats import FORMATS, collect_network
    from graphveil.datasets.bundled import health_insurance
    from graphveil.estimators.graphical_lasso import PrivateGraphicalLasso
    from graphveil.gate import release as make
    from graphveil.report.page import write_report
    from graphveil.spec.budget import Budget
    from graphveil.spec.domain import Domain

    folder = expand_home(folder)
    if folder.exists() and not folder.is_dir():
        raise CliError(f"{folder} is a file; give a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    data = health_insurance()
    domain = Domain(data.codebook)
    files = _choose_names(folder)
    with progress_bar("Releasing", as_json):
        made = make(data.rows, person=data.people, domain=domain, budget=Budget(_EPSILON, _DELTA))
        made.save(files["release"])
    with progress_bar("Fitting", as_json):
        model = PrivateGraphicalLasso(_EPSILON, _DELTA).fit_release(made)
        network = collect_network(model, made)
        FORMATS[".graphml"].write(network, files["graphml"])
    with progress_bar("Writing the report", as_json):
        write_report(made, files["html"])
    sure = [edge for edge in network.edges if not edge.get("could_be_noise", True)]
    facts = {
        "guarantee": made.guarantee,
        "edges": len(sure),
        "surest": sure[:_SHOWN],
        "files": {name: str(path) for name, path in files.items()},
    }
    lines = [
        f"\n{len(sure)} edges unlikely to be noise (a tenth of such a list may be); the surest, with 95% intervals:"
    ]
    for edge in sure[:_SHOWN]:
        interval = f"[{edge['lower']:+.2f}, {edge['upper']:+.2f}]"
        lines.append(f"  {edge['source']:>8} — {edge['target']:<8} {edge['estimate']:+.2f}  {interval}")
    lines += [
        f"\nRelease: {files['release']}",
        f"Network: {files['graphml']}",
        f"Report:  {files['html']} (open it in a browser)",
    ]
    emit(as_json, facts, lambda out: say_card(out, made, "\n".join(lines)), kept=True)


def _choose_names(folder: Path) -> dict[str, Path]:
    """Names for the three files; an earlier run's release stays, as any release does."""
    for number in itertools.count(1):
        stem = "demo" if number == 1 else f"demo-{number}"
        files = {ending: folder / f"{stem}.{ending}" for ending in ("release", "graphml", "html")}
        if not any(path.exists() for path in files.values()):
            break
    return files
