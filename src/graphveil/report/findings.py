"""What a release found, in words: the first paragraph of a report, made of its intervals alone.

A link is named if it would hold among all pairs together (Holm at 5%), if its interval excludes zero and is not wider
than a quarter, and if no column of its two variables is undetermined. Links are ordered, and called strong or weak, by
the end of the interval that is nearer to zero: by what they are at least. Two categories get a word and no number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.released.release import Release
from graphveil.report.report_data import Content
from graphveil.spec.kinds import Category, Kind
from graphveil.spec.rounding import format_exact

__all__ = ["Findings", "describe_findings", "word_for"]

_ERROR = 0.05  # probability that any link is named that does not exist
_WIDEST = 0.25  # interval of a link that is named
_MOST = 4  # links
_WORDS = ((0.5, "strongly"), (0.3, "clearly"), (0.1, "moderately"), (0.0, "weakly"))


@dataclass(frozen=True)
class Findings:
    """The paragraph.

    Attributes
    ----------
    lead : str
        What the report is about, up to the links.
    links : tuple of (str, str)
        Each a sentence, and its numbers, which may be empty.
    rest : str
        How many links there are, what was not found, and what none of it means.
    """

    lead: str
    links: tuple[tuple[str, str], ...]
    rest: str


def describe_findings(release: Release, content: Content) -> Findings:
    """Put into words what a report shows."""
    p, who, intervals = len(content.names), release.event.counted, content.intervals
    about = "about " if release.domain.hides_count else ""
    lead = [f"This report shows how {p} variables of {about}{release.n_samples:,} {who} go together."]
    if release.seeded:
        lead.append("Nothing here is private: the noise came from a known seed.")
    else:
        lead.append(
            f"Random noise was added before publication, so that the numbers reveal little about any one of them "
            f"(ε = {format_exact(release.budget.epsilon)}); the ranges in brackets allow for it."
        )
    if intervals.reason is not None:
        return Findings(" ".join([*lead, "No link can be told from noise."]), (), intervals.reason)
    found = _surest_links(content)
    links = tuple(_describe_link(release, content, i, j) for i, j in found)
    if links:
        lead.append("With all other variables held equal, the links that are most certainly strong are:")
    sure = np.triu(content.sure, 1)
    count, pairs = int(sure.sum()), p * (p - 1) // 2
    rest = [f"In all, {count:,} of {pairs:,} pairs are linked more than chance and noise would explain"]
    rest[0] += f"; about {max(1, round(0.1 * count))} of these may still be chance." if count else "."
    alone = [content.names[k] for k in np.flatnonzero(~(sure | sure.T).any(axis=0))]
    if alone and count:
        rest.append(f"No link was found for {_list(alone)}.")
    if intervals.smallest_edge is not None:
        rest.append(f"Links weaker than {intervals.smallest_edge:.2f} would often be missed.")
    rest.append("A link is not a cause, and says nothing about any one person.")
    return Findings(" ".join(lead), links, " ".join(rest))


def word_for(lower: float, upper: float) -> str:
    """How strong a link is at least, in a word; of one whose interval contains zero, that it is not certain alone."""
    if not (lower > 0.0 or upper < 0.0):
        return "not certain alone"
    nearer = min(abs(lower), abs(upper))
    return next(word for least, word in _WORDS if nearer >= least)


def _surest_links(content: Content) -> list[tuple[int, int]]:
    i, j = np.triu_indices(len(content.names), 1)
    intervals = content.intervals
    lower, upper = intervals.lower[i, j], intervals.upper[i, j]
    undetermined = np.array([content.found.undetermined[list(place)].any() for place in content.places])
    named = _holm(intervals.p_value[i, j]) & content.sure[i, j] & ((lower > 0.0) | (upper < 0.0))
    named &= (upper - lower <= _WIDEST) & ~undetermined[i] & ~undetermined[j]
    nearer = np.where(named, np.minimum(np.abs(lower), np.abs(upper)), -1.0)
    order = np.argsort(-nearer, kind="stable")[: min(_MOST, int(named.sum()))]
    return [(int(i[k]), int(j[k])) for k in order]


def _holm(p_value: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which hypotheses Holm's procedure rejects; those without a p-value are not tested."""
    order = np.argsort(np.where(np.isnan(p_value), 1.0, p_value), kind="stable")
    tested = np.count_nonzero(~np.isnan(p_value))
    passed = p_value[order[:tested]] <= _ERROR / np.arange(tested, 0, -1)
    rejected = np.zeros(len(p_value), bool)
    rejected[order[: len(passed) if passed.all() else int(passed.argmin())]] = True
    return rejected


def _describe_link(release: Release, content: Content, i: int, j: int) -> tuple[str, str]:
    kinds = (None,) * len(content.names) if release.domain.codebook is None else release.domain.codebook.kinds
    lower, upper = float(content.intervals.lower[i, j]), float(content.intervals.upper[i, j])
    word, above = word_for(lower, upper), lower > 0.0
    joint = [len(content.places[k]) > 1 for k in (i, j)]
    if all(joint):
        return f"{content.names[i]} and {content.names[j]} are {word} related", ""
    numbers = f"{_number(content.estimate[i, j])}; {_number(lower)} to {_number(upper)}"
    if any(joint):
        return f"{content.names[i]} and {content.names[j]} are {word} related", numbers
    if _level(kinds[j]) is not None and _level(kinds[i]) is None:
        i, j = j, i
    first, second = (_subject(content.names[k], kinds[k]) for k in (i, j))
    if _level(kinds[i]) is None:
        return f"the higher {first}, the {'higher' if above else 'lower'} {second}, {word}", numbers
    what = (
        f"the {'more' if above else 'less'} often {second}"
        if _level(kinds[j]) is not None
        else (f"{second} is {'higher' if above else 'lower'}")
    )
    return f"where {first}, {what}, {word}", numbers


def _level(kind: Kind | None) -> str | None:
    """The level that the column of a category of two levels is 1 for."""
    return str(kind.levels[1]) if isinstance(kind, Category) and len(kind.levels) == 2 else None


def _subject(name: str, kind: Kind | None) -> str:
    """A variable within a sentence: "sex is M" for the column sex[M]."""
    level = _level(kind)
    return name if level is None else f"{name.removesuffix(f'[{level}]')} is {level}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def _list(names: list[str]) -> str:
    most = 6
    shown = names[:most] + ([f"{len(names) - most} others"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
