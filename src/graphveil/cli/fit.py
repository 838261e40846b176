"""`graphveil fit`: from a release to a network file, for free."""

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, number, require_file, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, one_line, progress_bar
from graphveil.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from graphveil.released.release import Release

__all__ = ["cautions_of", "fit"]

_METHODS = ("network", "dense", "ridge")


@command
def fit(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .graphml, .csv, .json, .npz or .svg (picture) file to write.")
    ],
    method: Annotated[str, typer.Option(help="network (graphical lasso), dense (denoised), or ridge.")] = "network",
    alpha: Annotated[str, typer.Option(help="The penalty: auto, ebic (network only), or a number.")] = "auto",
    by_level: Annotated[
        bool, typer.Option("--by-level", help="Edges of each level of a category, instead of the category as a whole.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a network to a release and write it. Free, and needs no records.

    Example: graphveil fit patients.release -o network.graphml
    """
    from graphveil.cli._network_formats import FORMATS, collect_network
    from graphveil.released.release import Release

    kind = FORMATS.get(output.suffix.lower())
    if kind is None:
        raise CliError(f"{output} has an unknown extension; a network is written as {', '.join(FORMATS)}.")
    output = require_writable(output, kind.like)
    found = Release.load(require_file(release))
    cautions = cautions_of(found)
    with progress_bar("Fitting", as_json), warnings.catch_warnings():
        for caution in cautions:  # told with the result
            warnings.filterwarnings("ignore", re.escape(caution), PrivacyWarning)
        model = _fit(found, method, alpha)
        network = collect_network(model, found, by_level=by_level)
        kind.write(network, output)
    unsure = sum(edge.get("could_be_noise", False) for edge in network.edges)
    edges = len(network.edges) - unsure
    facts: dict[str, Any] = {
        "network": str(output),
        "variables": len(network.names),
        "edges": edges,
        "could_be_noise": unsure,
        "n_eff": network.n_eff,
        "cautions": cautions,
    }
    worth = f"as good as {network.n_eff:,.0f} noise-free records"
    pairs = f"{edges} edges" + (f", and {unsure} pairs whose edge could be noise," if unsure else "")
    said = [f"{pairs} between {len(network.names)} variables, {worth}: {output}"]
    if network.edges and not any("lower" in edge for edge in network.edges):
        said.append("Without intervals: any of these edges could be noise.")
    said += map(one_line, facts["cautions"])  # they name columns
    emit(as_json, facts, lambda out: echo(out, "\n".join(said)), kept=True)


def cautions_of(release: "Release") -> list[str]:
    """What a reader must know before believing a release."""
    from graphveil.recovery.diagnostics import diagnostics
    from graphveil.recovery.estimate import estimate_release

    return [] if release.event.mechanism == "paper" else diagnostics(release, estimate_release(release))


def _fit(release: "Release", method: str, alpha: str) -> Any:
    """An estimator; its ε and δ are those of the release, which it does not spend again."""
    if method not in _METHODS:
        raise CliError(f"--method must be one of {', '.join(_METHODS)}, got {method!r}.")
    budget = release.budget
    if method == "dense":
        from graphveil.estimators.precision import PrivatePrecision

        if alpha != "auto":
            raise CliError("--alpha goes with --method network or ridge; dense has no penalty.")
        return PrivatePrecision(budget.epsilon, budget.delta).fit_release(release)
    penalty = _penalty(alpha)
    if method == "ridge":
        from graphveil.estimators.ridge import PrivateRidgePrecision

        return PrivateRidgePrecision(budget.epsilon, budget.delta, alpha=penalty).fit_release(release)
    from graphveil.estimators.graphical_lasso import PrivateGraphicalLasso

    return PrivateGraphicalLasso(budget.epsilon, budget.delta, alpha=penalty).fit_release(release)


def _penalty(alpha: str) -> str | float:
    try:
        return number(alpha)
    except typer.BadParameter:
        return alpha
