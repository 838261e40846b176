"""Do two groups differ? By the law of the errors, or by rehearsing the comparison of groups that do not."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graphveil import _validation
from graphveil._random import generator_for
from graphveil.exceptions import InvalidParameter, PrivacyWarning
from graphveil.inference.comparison import (
    AllDifferences,
    Comparison,
    Side,
    check_alike,
    compare_sides,
    group_names,
    subtract_sides,
)
from graphveil.inference.differences import Differences, calibrate
from graphveil.planning.null_rows import NullRows, require_rehearsable
from graphveil.released.release import Release

__all__ = ["compare"]

_FEWEST_DRAWS = 20


def compare(
    a: Release,
    b: Release,
    *,
    outcome: str | int | None = None,
    on: Sequence[str | int] | None = None,
    names: tuple[str, str] | None = None,
    level: float = 0.95,
    fdr: float = 0.1,
    overlap: bool = False,
    method: str = "score",
    draws: int = 199,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare two releases: means, standard deviations, partial correlations, a regression, with intervals. Free.

    Parameters
    ----------
    a, b : Release
        Of the same columns with the same bounds.
    outcome, on : optional
        A regression to compare, as in :func:`graphveil.regression`: the outcome column and the explanatory columns (by
        default, all others).
    names : pair of str, optional
        What the groups are called. Default: their levels, for releases made with ``by``; otherwise "a" and "b".
    level : float, default 0.95
        Level of the intervals, for each number separately.
    fdr : float, default 0.1
        False discovery rate at which numbers of each kind are marked as different.
    overlap : bool, default False
        False asserts that nobody has records in both releases: their errors are then independent. With True, standard
        deviations are added instead of variances, which is valid under any dependence and gives wider intervals.
    method : {"score", "bootstrap"}
        "score" takes the size of errors from their law. "bootstrap" measures it: pairs of groups that do not differ are
        drawn as the releases describe them, released and compared in the same way. Free, too, but takes minutes.
    draws : int, default 199
        Number of such pairs.
    progress : callable, optional
        Called with the number of pairs so far, and with ``draws``.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=4), 20_000, random_state=0)
    >>> domain, budget = gv.Domain(bounds=(-6, 6)), gv.Budget(1.0, 1e-6)
    >>> one, two = (
    ...     gv.release(part, domain=domain, budget=budget, random_state=0) for part in (rows[::2], rows[1::2] + 0.5)
    ... )
    >>> compare(one, two, names=("before", "after"))
    <Comparison of before and after: 0 of 6 partial correlations, 4 of 4 means, 0 of 4 standard deviations differ>
    """
    check_alike(a, b, overlap=_validation.flag("overlap", overlap))
    called = _validation.text_tuple("names", names or group_names(a, b))
    if len(called) != 2:
        raise InvalidParameter.of("names", "two names", names)
    level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    fdr = _validation.number("fdr", fdr, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    if outcome is None and on is not None:
        raise InvalidParameter("on needs an outcome: the column that these columns explain.")
    if method not in ("score", "bootstrap"):
        raise InvalidParameter.of("method", '"score" or "bootstrap"', method)
    draws = _validation.integer("draws", draws, _FEWEST_DRAWS)
    if method == "bootstrap":
        require_rehearsable(a)
        require_rehearsable(b)
    sides = Side.of(a, called[0], level, outcome, on), Side.of(b, called[1], level, outcome, on)
    found = compare_sides(*sides, fdr=fdr, overlap=overlap)
    return found if method == "score" else _bootstrap(found, sides, (outcome, on), draws, progress)


def _bootstrap(
    found: Comparison,
    sides: tuple[Side, Side],
    regression: tuple[str | int | None, Sequence[str | int] | None],
    draws: int,
    progress: Callable[[int, int], None] | None,
) -> Comparison:
    """The same with errors as large as between pairs of groups that do not differ."""
    a, b = sides
    generator, groups = generator_for(a.release.stream, b.release.stream, "comparison"), NullRows.of(a, b)
    simulated: list[AllDifferences] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # they are about drawn rows
        for draw in range(draws):
            first, second = (Side.of(group.draw(generator), "", found.level, *regression) for group in groups)
            simulated.append(subtract_sides(first, second, overlap=found.overlap))
            if progress is not None:
                progress(draw + 1, draws)

    def measure(kind: Differences | None, drawn: Iterable[Differences | None]) -> Differences | None:
        return None if kind is None else calibrate(kind, [one for one in drawn if one is not None])

    sds = calibrate(found.standard_deviations, [one.standard_deviations for one in simulated])
    return replace(
        found,
        means=measure(found.means, (one.means for one in simulated)),
        standard_deviations=sds,
        partial_correlations=measure(found.partial_correlations, (one.partial_correlations for one in simulated)),
        coefficients=measure(found.coefficients, (one.coefficients for one in simulated)),
        draws=draws,
    )
