"""The layout of networks: where nodes go, which lines bend, where names stand. The same network always looks the same.

1. *Stress majorisation* (Gansner, Koren, North 2004) gives first places: nodes as far apart as the path between them
   is long, where a strong edge is shorter than a weak one.
2. A *local search* (``_layout_search.py``) moves one node or one name at a time to a better place: fewer crossings, no
   line near a third node, no name on a name, a disc or a line.
3. A line that still runs through a third node or a name becomes a curve, of the smallest bend that is free.

Nodes without an edge stand in rows of their own at the bottom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector

__all__ = ["LINE", "RADIUS", "Layout", "lay_out", "neighbourly_order"]

_SHORTEST, _LONGEST = 0.75, 1.35  # lengths of the strongest edge and of the weakest
_STRETCH = 1.7  # a wide box may pull a network apart sideways this far
RADIUS, _CLEAR = 7.0, 8.0  # of a disc, in pixels; what a line keeps from the rim of a third disc
LINE, _LETTERS = 15.0, 17  # height of a line of a name in pixels; letters of one line
_MOST_EDGES = 2.5  # for each node: more make a tangle whatever their places are, and the strongest decide these
_AREA, _MORE = 15_000.0, 50.0  # square pixels for each node, and more for each further one: edges get longer
_ROW = 30.0  # height of a row of nodes without edges
_BENDS = (0.08, -0.08, 0.14, -0.14, 0.2, -0.2, 0.28, -0.28)  # of a line's length, the smallest first
# Where a name can stand, by preference: beside, below and above the disc, and at its corners; four farther out.
_SIDES = np.array(
    [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1), (2, 0), (-2, 0), (0, 2), (0, -2)], float
)


@dataclass(frozen=True, eq=False)
class Layout:
    """A network laid out in a box, in pixels.

    Attributes
    ----------
    width, height : float
    nodes : (p, 2) array
        Centres of the discs.
    names : (p, 2) array
        Centres of the names.
    lines : list of list of str
        The names, each in one or two lines.
    bends : dict
        How far the middle of an edge ``(i, j)``, ``i < j``, is moved sideways, as part of its length; 0 if not in it.
    """

    width: float
    height: float
    nodes: Matrix
    names: Matrix
    lines: list[list[str]]
    bends: dict[tuple[int, int], float]

    def edge(self, i: int, j: int, count: int = 24) -> Matrix:
        """Points of an edge, from one disc to the other."""
        return curve(self.nodes[i], self.nodes[j], self.bends.get((i, j), 0.0), count)

    def path(self, i: int, j: int) -> str:
        """An edge as the path of an SVG."""
        (x, y), (u, v) = self.nodes[i], self.nodes[j]
        bend = 2.0 * self.bends.get((i, j), 0.0)
        middle = f"Q{(x + u) / 2 + bend * (y - v):.1f} {(y + v) / 2 + bend * (u - x):.1f} " if bend else "L"
        return f"M{x:.1f} {y:.1f}{middle}{u:.1f} {v:.1f}"


def lay_out(weights: Matrix, names: Sequence[str], width: float, height: float | None = None) -> Layout:
    """Lay out a network.

    Parameters
    ----------
    weights : (p, p) array
        Strength of each edge that is drawn, zero where there is none. Several networks share a layout if these are
        those of the strongest edge that any has.
    names : sequence of str
    width, height : float
        The box in pixels; by default as high as so many nodes need.
    """
    lines = [_in_lines(name) for name in names]
    sizes = np.array([_size(one) for one in lines]).reshape(-1, 2)
    strength = np.abs(weights)
    np.fill_diagonal(strength, 0.0)
    joined, alone = np.flatnonzero(strength.any(axis=0)), np.flatnonzero(~strength.any(axis=0))
    nodes, places, bends = np.zeros((len(names), 2)), np.zeros((len(names), 2)), {}
    nodes[alone], places[alone], below = _in_rows(sizes[alone], width)
    if height is None:
        need = max((_AREA + _MORE * len(joined)) * len(joined) / width, 0.48 * width if len(joined) > 5 else 0.0, 220.0)
        height = below + (need if len(joined) else 0.0)
    if len(joined):
        inner = strength[np.ix_(joined, joined)]
        nodes[joined], places[joined], found = _search(inner, sizes[joined], width, height - below)
        half = sizes[joined, 1] / 2.0
        top = min((places[joined, 1] - half).min(), nodes[joined, 1].min() - 12.0) - 6.0
        bottom = max((places[joined, 1] + half).max(), nodes[joined, 1].max() + 12.0) + 6.0
        nodes[joined, 1] -= top
        places[joined, 1] -= top
        height = below + bottom - top
        bends = {(int(joined[i]), int(joined[j])): bend for (i, j), bend in found.items()}
    nodes[alone, 1] += height - below
    places[alone, 1] += height - below
    return Layout(float(width), height, nodes, places, lines, bends)


def neighbourly_order(strength: Matrix) -> NDArray[np.intp]:
    """Leaves of a tree of average links, turned so that neighbours are alike."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(strength) < 3:
        return np.arange(len(strength))
    apart = 1.0 - np.abs(strength)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.intp)


# ------------------------------------------------------------------ names
def _in_lines(name: str) -> list[str]:
    """A name in one or two lines, broken at blanks, hyphens and underscores, and cut where it is longer."""
    wrapped = wrap(name.replace("_", "_ "), _LETTERS, max_lines=2, placeholder="…")
    return [line.replace("_ ", "_") for line in wrapped] or [""]


def _size(lines: list[str]) -> tuple[float, float]:
    """Width and height of a name in pixels, in letters 13 pixels high: estimated by what letters there are."""

    def width(letter: str) -> float:
        if letter in "iljtfrI.,:;'|!()[] ":
            return 4.6
        if letter in "mwMW@%—" or ord(letter) > 0x2E80:
            return 12.5
        return 9.0 if letter.isupper() or letter == "_" else 7.7

    return max(sum(map(width, line)) for line in lines) + 4.0, LINE * len(lines)


def _in_rows(sizes: Matrix, width: float) -> tuple[Matrix, Matrix, float]:
    """Discs with their names at the right, in rows as wide as the box: places, places of names, height."""
    nodes, names = np.zeros((len(sizes), 2)), np.zeros((len(sizes), 2))
    x, y, row = 14.0, _ROW / 2.0, _ROW
    for k, (wide, high) in enumerate(sizes):
        if x > 14.0 and x + 2 * RADIUS + wide > width:
            x, y, row = 14.0, y + row, _ROW
        row = max(row, high + 6.0)
        nodes[k] = x, y
        names[k] = x + RADIUS + 3.0 + wide / 2.0, y
        x += 2 * RADIUS + wide + 22.0
    return nodes, names, y + row / 2.0 + 4.0 if len(sizes) else 0.0


# ------------------------------------------------------------------ first places
def _path_lengths(strength: Matrix) -> Matrix:
    """Lengths of shortest paths, where strong edges are shorter; parts that nothing joins stand well apart."""
    from scipy.sparse.csgraph import shortest_path

    top = strength.max()
    length = np.where(strength > 0.0, _LONGEST - (_LONGEST - _SHORTEST) * strength / top, np.inf)
    np.fill_diagonal(length, 0.0)
    apart = np.asarray(shortest_path(np.where(np.isfinite(length), length, 0.0), directed=False))
    finite = np.isfinite(apart)
    return np.where(finite, apart, 0.6 * apart[finite].max() + 1.0)


def _scaling(apart: Matrix) -> Matrix:
    """Classical scaling to two dimensions, turned so that it is widest from left to right."""
    p = len(apart)
    centred = apart**2 - (apart**2).mean(axis=0) - (apart**2).mean(axis=1)[:, None] + (apart**2).mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    x = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 1e-6)) if p > 1 else np.zeros((1, 2))
    signs = np.sign(x[np.abs(x).argmax(axis=0), np.arange(x.shape[1])])
    return np.column_stack([x * np.where(signs == 0, 1, signs), np.zeros((p, 2 - x.shape[1]))])


def _majorise(apart: Matrix, start: Matrix) -> Matrix:
    """Lower the stress Σ (‖x_i − x_j‖ − d_ij)² / d_ij² from a start."""
    p = len(apart)
    if p < 3:
        return start
    weight = 1.0 / np.where(apart > 0.0, apart, 1.0) ** 2
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1.0 / p) - 1.0 / p
    x = start
    for _ in range(120):
        gap = np.maximum(np.linalg.norm(x[:, None] - x, axis=2), 1e-9)
        ratio = weight * apart / gap
        x = inverse @ (np.diag(ratio.sum(axis=1)) - ratio) @ x
    return x


def _starts(apart: Matrix) -> list[Matrix]:
    """Places to begin the search from: the scaling, and circles in orders that keep what is near together."""
    p = len(apart)
    scaled = _scaling(apart)
    found = [scaled + 1e-3 * np.column_stack([np.sin(np.arange(p) * 2.4), np.cos(np.arange(p) * 1.7)])]
    order = neighbourly_order(1.0 - apart / (apart.max() or 1.0) if p > 1 else np.ones((1, 1)))
    by_degree = np.argsort(apart.sum(axis=1), kind="stable")
    for around in (order, by_degree, np.arange(p), order[::2].tolist() + order[1::2].tolist()):
        angle = np.empty(p)
        angle[np.asarray(around)] = 2.0 * np.pi * np.arange(p) / p
        found.append(0.5 * apart.max() * np.column_stack([np.cos(angle), np.sin(angle)]))
    return found[: 5 if p <= 30 else 2 if p <= 80 else 1]


def _fit(x: Matrix, sizes: Matrix, width: float, height: float) -> tuple[Matrix, float, float]:
    """Turn, stretch and scale places into a box that leaves room for names; and the pixels of one unit each way."""
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    x = x @ axes.T if len(x) > 1 else x
    room = np.array([max(width - sizes[:, 0].mean() - 40.0, width / 2.0), max(height - 56.0, height / 2.0)])
    if height > width:
        x = x[:, ::-1]
    unit = room / np.maximum(np.ptp(x, axis=0), 0.25)
    unit = np.minimum(unit, _STRETCH * unit.min())
    unit = np.minimum(unit, 190.0)  # few nodes need not fill the box
    middle = (x.max(axis=0) + x.min(axis=0)) / 2.0
    return (x - middle) * unit + np.array([width, height]) / 2.0, float(unit[0]), float(unit[1])


# ------------------------------------------------------------------ the search
def _search(
    strength: Matrix, sizes: Matrix, width: float, height: float
) -> tuple[Matrix, Matrix, dict[tuple[int, int], float]]:
    from graphveil._layout_search import improve  # compiled when it is first needed

    p = len(strength)
    least = np.sort(strength[np.triu_indices(p, 1)])[::-1][: int(_MOST_EDGES * p)][-1]
    ends = np.ascontiguousarray(np.argwhere(np.triu(strength * (strength >= least), 1) > 0.0), np.int64)[
        : int(_MOST_EDGES * p)
    ]
    apart, half = _path_lengths(strength), np.ascontiguousarray(sizes / 2.0)
    best = (np.inf, np.zeros((p, 2)), np.zeros((p, 2)))
    for start in _starts(apart):
        places, unit_x, unit_y = _fit(_majorise(apart, start), sizes, width, height)
        at, names, sides = np.ascontiguousarray(places), np.zeros((p, 2)), np.zeros(p, np.int64)
        box = np.array([width, height, unit_x, unit_y, RADIUS, _CLEAR])
        total = improve(at, names, sides, ends, apart, half, _SIDES, box)
        best = min(best, (float(total), at, names), key=lambda one: one[0])
    return best[1], best[2], _bend(best[1], best[2], half, ends)


def curve(first: Vector, second: Vector, bend: float, count: int = 24) -> Matrix:
    """Points of a line, or of a quadratic curve whose middle is moved sideways by a part of its length."""
    middle = (first + second) / 2.0 + 2.0 * bend * np.array([first[1] - second[1], second[0] - first[0]])
    t = np.linspace(0.0, 1.0, count)[:, None]
    return np.asarray((1 - t) ** 2 * first + 2 * t * (1 - t) * middle + t**2 * second)


def _bend(at: Matrix, names: Matrix, half: Matrix, ends: NDArray[np.int64]) -> dict[tuple[int, int], float]:
    """Curves for the lines that run through a third node or a name, where some bend is better."""
    lines = {(int(i), int(j)): curve(at[i], at[j], 0.0) for i, j in ends}
    bends: dict[tuple[int, int], float] = {}

    def fault(edge: tuple[int, int], points: Matrix) -> float:
        others = [k for k in range(len(at)) if k not in edge]
        near = np.linalg.norm(points[:, None] - at[others], axis=2).min(axis=0) if others else np.array([np.inf])
        inside = (np.abs(points[:, None] - names) < half + np.array([1.0, 0.0])).all(axis=2).any(axis=0)
        return 4.0 * float((near < RADIUS + _CLEAR).sum()) + 2.0 * float(inside.sum())

    def crossings(edge: tuple[int, int], points: Matrix) -> int:
        mine = points[::3]
        return sum(_polylines_cross(mine, line[::3]) for other, line in lines.items() if not {*edge} & {*other})

    for edge, line in list(lines.items()):
        now = fault(edge, line)
        if now == 0.0:
            continue
        best = (now + 0.5 * crossings(edge, line), 0.0, line)
        for bend in _BENDS:
            points = curve(at[edge[0]], at[edge[1]], bend)
            cost = fault(edge, points) + 0.5 * crossings(edge, points) + 4.0 * abs(bend)
            best = min(best, (cost, bend, points), key=lambda one: one[0])
        if best[1] != 0.0:
            bends[edge], lines[edge] = best[1], best[2]
    return bends


def _polylines_cross(one: Matrix, two: Matrix) -> bool:
    a, b, c, d = one[:-1, None], one[1:, None], two[None, :-1], two[None, 1:]

    def turn(u: Matrix, v: Matrix, w: Matrix) -> Matrix:
        return np.asarray((v - u)[..., 0] * (w - u)[..., 1] - (v - u)[..., 1] * (w - u)[..., 0])

    return bool(((turn(a, b, c) * turn(a, b, d) < 0) & (turn(c, d, a) * turn(c, d, b) < 0)).any())
