"""The layout of networks: where nodes go, which lines bend, where names stand. The same network always looks the same.

1. *Stress majorisation* (Gansner, Koren, North 2004) gives first places: nodes as far apart as the path between them
   is long, where a strong edge is shorter than a weak one.
2. A *local search* (the criteria of Davidson and Harel 1996, without their chance) moves one node or one name at a
   time to where it is worst the least: stress, crossings, lines too near a third node, names on names, discs or lines,
   narrow angles.
3. A line that still runs through a third node or a name becomes a curve, of the smallest bend that is free.

Nodes without an edge stand in rows of their own at the bottom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from numba import f8, i8, njit
from numpy.typing import NDArray

from graphveil._compiled import compiled
from graphveil._typing import Matrix, Vector

__all__ = ["LINE", "RADIUS", "Layout", "lay_out", "neighbourly_order"]

RADIUS = 7.0  # of a disc, in pixels
_CLEAR = 8.0  # that a line keeps from the rim of a third disc
_APART = 5.0 * RADIUS  # that two nodes keep from each other, at least
_SHORTEST, _LONGEST = 0.75, 1.35  # lengths of the strongest edge and of the weakest
_NARROW = np.cos(np.radians(22.0))  # the cosine of an angle between two edges below which they are hard to tell apart
_STRETCH = 1.7  # a wide box may pull a network apart sideways this far
LINE, _LETTERS = 15.0, 17  # height of a line of a name in pixels; letters of one line
_MOST_EDGES = 2.5  # for each node: more make a tangle whatever their places are, and the strongest decide these
_AREA = 17_000.0  # square pixels for each node
_ROW = 30.0  # height of a row of nodes without edges
# What one fault costs beside the stress of a node, which is about one.
_CROSSING, _THROUGH, _CROWDED, _ANGLE, _NAME, _OUTSIDE = 3.0, 10.0, 6.0, 0.7, 6.0, 40.0
_PREFERENCE = 0.04  # for a side over the next
_FIRST_STEP, _ROUNDS = 1.2, 80  # of the search: in lengths of an edge; at most
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
        need = max(_AREA * len(joined) / width, 0.48 * width if len(joined) > 5 else 0.0, 220.0)
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
_points, _pairs, _integers = f8[:, ::1], i8[:, ::1], i8[::1]


@njit
def _name_at(x, y, half, side):  # type: ignore[no-untyped-def]
    """The centre of a name that stands at a side of its disc."""
    sx, sy = side
    far = 1.0 if abs(sx) + abs(sy) < 2.0 or sx * sy != 0.0 else 2.0
    sx, sy = sx / far, sy / far
    reach = (far - 1.0) * 14.0
    if sx * sy != 0.0:
        return x + sx * (0.6 * RADIUS + half[0]), y + sy * (0.6 * RADIUS + half[1])
    return x + sx * (RADIUS + 3.0 + half[0] + reach), y + sy * (RADIUS + 1.0 + half[1] + reach)


@njit
def _distance(px, py, ax, ay, bx, by):  # type: ignore[no-untyped-def]
    """From a point to a line between two others."""
    dx, dy = bx - ax, by - ay
    long = dx * dx + dy * dy
    t = 0.0 if long == 0.0 else min(1.0, max(0.0, ((px - ax) * dx + (py - ay) * dy) / long))
    return np.hypot(px - ax - t * dx, py - ay - t * dy)


@njit
def _cross(ax, ay, bx, by, cx, cy, dx, dy):  # type: ignore[no-untyped-def]
    """Whether two lines cross."""
    one = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    two = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    three = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    four = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    return one * two < 0.0 and three * four < 0.0


@njit
def _inside(ax, ay, bx, by, cx, cy, wide, high):  # type: ignore[no-untyped-def]
    """How much of a line, from 0 to 1 of the box's half diagonal, lies in a box with this centre and half sizes."""
    low, top = 0.0, 1.0
    for start, move, middle, half in ((ax, bx - ax, cx, wide), (ay, by - ay, cy, high)):
        if move == 0.0:
            if abs(start - middle) >= half:
                return 0.0
        else:
            one, two = (middle - half - start) / move, (middle + half - start) / move
            low, top = max(low, min(one, two)), min(top, max(one, two))
    if low >= top:
        return 0.0
    return min(1.0, (top - low) * np.hypot(bx - ax, by - ay) / np.hypot(wide, high))


@njit
def _overlap(dx, dy, wide, high):  # type: ignore[no-untyped-def]
    """How deep two boxes lie in each other, from 0 to 1, by the distance of their centres and the sum of half sizes."""
    return max(0.0, min(1.0 - abs(dx) / wide, 1.0 - abs(dy) / high))


@compiled(f8(i8, f8, f8, f8, f8, _points, _points, _points, _pairs, f8[::1]))
def _name_cost(v, x, y, nx, ny, at, names, half, ends, box):  # type: ignore[no-untyped-def]
    """What it costs to have the name of node v, whose disc is at (x, y), at (nx, ny)."""
    wide, high = half[v, 0], half[v, 1]
    total = max(0.0, wide + 2.0 - nx) + max(0.0, nx + wide + 2.0 - box[0])
    total += max(0.0, high + 2.0 - ny) + max(0.0, ny + high + 2.0 - box[1])
    total *= _OUTSIDE / 20.0
    for k in range(len(at)):
        if k == v:
            continue
        deep = _overlap(nx - names[k, 0], ny - names[k, 1], wide + half[k, 0] + 4.0, high + half[k, 1] + 1.0)
        if deep > 0.0:
            total += _NAME * (1.0 + 2.0 * deep)
        deep = _overlap(nx - at[k, 0], ny - at[k, 1], wide + RADIUS + 2.0, high + RADIUS + 2.0)
        if deep > 0.0:
            total += _NAME * (1.0 + 2.0 * deep)
    for e in range(len(ends)):
        a, b = ends[e, 0], ends[e, 1]
        ax, ay = (x, y) if a == v else (at[a, 0], at[a, 1])
        bx, by = (x, y) if b == v else (at[b, 0], at[b, 1])
        deep = _inside(ax, ay, bx, by, nx, ny, wide + 1.0, high)
        if deep > 0.0:
            total += _NAME * (0.5 + deep)
    return total


@compiled(f8(i8, f8, f8, _points, _points, _points, _pairs, _points, f8[::1]))
def _disc_cost(v, x, y, at, names, half, ends, apart, box):  # type: ignore[no-untyped-def]
    """What it costs to have the disc of node v at (x, y), with its edges."""
    p, near = len(at), RADIUS + _CLEAR
    total = max(0.0, 14.0 - x) + max(0.0, x + 14.0 - box[0]) + max(0.0, 14.0 - y) + max(0.0, y + 14.0 - box[1])
    total *= _OUTSIDE / 20.0
    for k in range(p):
        if k == v:
            continue
        dx, dy = x - at[k, 0], y - at[k, 1]
        off = np.hypot(dx / box[2], dy / box[3]) / apart[v, k] - 1.0
        total += off * off * (2.0 / p if off > 0.0 else 4.0 / p)
        gap = np.hypot(dx, dy)
        if gap < _APART:
            total += _CROWDED * (1.0 - gap / _APART) + (20.0 if gap < 3.0 * RADIUS else 0.0)
        deep = _overlap(names[k, 0] - x, names[k, 1] - y, half[k, 0] + RADIUS + 2.0, half[k, 1] + RADIUS + 2.0)
        if deep > 0.0:
            total += _NAME * (1.0 + 2.0 * deep)
    for e in range(len(ends)):
        a, b = ends[e, 0], ends[e, 1]
        if v not in (a, b):
            gap = _distance(x, y, at[a, 0], at[a, 1], at[b, 0], at[b, 1])
            if gap < near:
                total += _THROUGH * (1.0 - 0.6 * gap / near)
            continue
        u = b if a == v else a
        ux, uy = at[u, 0], at[u, 1]
        for k in range(p):
            if k == v:
                continue
            deep = _inside(x, y, ux, uy, names[k, 0], names[k, 1], half[k, 0] + 1.0, half[k, 1])
            if deep > 0.0:
                total += _NAME * (0.5 + deep)
            if k != u:
                gap = _distance(at[k, 0], at[k, 1], x, y, ux, uy)
                if gap < near:
                    total += _THROUGH * (1.0 - 0.6 * gap / near)
        for f in range(len(ends)):
            c, d = ends[f, 0], ends[f, 1]
            if f == e:
                continue
            if c in (u, v) or d in (u, v):
                meet = c if c in (u, v) else d
                other = d if meet == c else c
                mx, my, qx, qy = (x, y, ux, uy) if meet == v else (ux, uy, x, y)
                ox, oy, tx, ty = at[other, 0] - mx, at[other, 1] - my, qx - mx, qy - my
                long = np.hypot(ox, oy) * np.hypot(tx, ty)
                cosine = (ox * tx + oy * ty) / long if long > 0.0 else 1.0
                if cosine > _NARROW:
                    total += _ANGLE * (cosine - _NARROW) / (1.0 - _NARROW) * (0.5 if meet == v else 1.0)
            elif _cross(x, y, ux, uy, at[c, 0], at[c, 1], at[d, 0], at[d, 1]):
                total += _CROSSING
    return total


@compiled(f8(_points, _points, _integers, _pairs, _points, _points, _points, f8[::1], i8))
def _improve(at, names, sides, ends, apart, half, choices, box, rounds):  # type: ignore[no-untyped-def]
    """Move discs and names to better places, in place, until a round of the smallest steps changes little."""
    step, total = _FIRST_STEP * max(box[2], box[3]), 0.0
    for _ in range(rounds):
        gained, total = 0.0, 0.0
        for v in range(len(at)):
            x, y, side = at[v, 0], at[v, 1], sides[v]
            fixed = _disc_cost(v, x, y, at, names, half, ends, apart, box)
            before = _name_cost(v, x, y, names[v, 0], names[v, 1], at, names, half, ends, box) + _PREFERENCE * side
            best = before
            for other in range(len(choices)):
                nx, ny = _name_at(x, y, half[v], choices[other])
                cost = _name_cost(v, x, y, nx, ny, at, names, half, ends, box) + _PREFERENCE * other
                if cost < best:
                    best, side = cost, other
            best, before, bx, by = best + fixed, before + fixed, x, y
            for k in range(24):
                turn, reach = 2.0 * np.pi * k / 12.0 + (0.26 if k >= 12 else 0.0), step if k < 12 else 0.4 * step
                qx, qy = x + reach * np.cos(turn), y + reach * np.sin(turn)
                cost = _disc_cost(v, qx, qy, at, names, half, ends, apart, box) + _PREFERENCE * side
                if cost < best:
                    nx, ny = _name_at(qx, qy, half[v], choices[side])
                    cost += _name_cost(v, qx, qy, nx, ny, at, names, half, ends, box)
                    if cost < best:
                        best, bx, by = cost, qx, qy
            at[v, 0], at[v, 1], sides[v] = bx, by, side
            names[v, 0], names[v, 1] = _name_at(bx, by, half[v], choices[side])
            gained, total = gained + before - best, total + best
        if gained < 0.01 * len(at):
            if step <= 3.0:
                break
            step *= 0.5
        else:
            step = max(3.0, 0.9 * step)
    return total


def _search(
    strength: Matrix, sizes: Matrix, width: float, height: float
) -> tuple[Matrix, Matrix, dict[tuple[int, int], float]]:
    p = len(strength)
    least = np.sort(strength[np.triu_indices(p, 1)])[::-1][: int(_MOST_EDGES * p)][-1]
    ends = np.ascontiguousarray(np.argwhere(np.triu(strength * (strength >= least), 1) > 0.0), np.int64)[
        : int(_MOST_EDGES * p)
    ]
    apart, half = _path_lengths(strength), np.ascontiguousarray(sizes / 2.0)
    best = (np.inf, np.zeros((p, 2)), np.zeros((p, 2)))
    for start in _starts(apart):
        places, unit_x, unit_y = _fit(_majorise(apart, start), sizes, width, height)
        at, sides = np.ascontiguousarray(places), np.zeros(p, np.int64)
        names = np.array([_name_at(*at[k], half[k], _SIDES[0]) for k in range(p)])
        box = np.array([width, height, unit_x, unit_y])
        total = _improve(at, names, sides, ends, apart, half, _SIDES, box, _ROUNDS)
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
