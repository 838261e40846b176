"""The local search of a layout, compiled: what a place costs, and where it costs least.

The criteria are those of Davidson and Harel (1996), without their chance: stress, crossings, lines near a third disc,
names on names, discs or lines, narrow angles.
"""

import numpy as np
from numba import f8, i8, njit

from graphveil._compiled import compiled

__all__ = ["improve"]

_APART = 5.0  # radii of a disc that two nodes keep from each other, at least
_NARROW = np.cos(np.radians(22.0))  # the cosine of an angle between two edges below which they are hard to tell apart
# What one fault costs beside the stress of a node, which is about one.
_CROSSING, _THROUGH, _CROWDED, _ANGLE, _NAME, _OUTSIDE = 3.0, 10.0, 6.0, 0.7, 6.0, 40.0
_PREFERENCE = 0.04  # for a side over the next
_FIRST_STEP, _ROUNDS = 1.2, 80  # in lengths of an edge; at most

_points, _pairs, _integers = f8[:, ::1], i8[:, ::1], i8[::1]


@njit
def _name_at(x, y, half, side, radius):  # type: ignore[no-untyped-def]
    """The centre of a name that stands at a side of its disc."""
    sx, sy = side
    far = 1.0 if abs(sx) + abs(sy) < 2.0 or sx * sy != 0.0 else 2.0
    sx, sy = sx / far, sy / far
    reach = (far - 1.0) * 14.0
    if sx * sy != 0.0:
        return x + sx * (0.6 * radius + half[0]), y + sy * (0.6 * radius + half[1])
    return x + sx * (radius + 3.0 + half[0] + reach), y + sy * (radius + 1.0 + half[1] + reach)


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
    wide, high, radius = half[v, 0], half[v, 1], box[4]
    total = max(0.0, wide + 2.0 - nx) + max(0.0, nx + wide + 2.0 - box[0])
    total += max(0.0, high + 2.0 - ny) + max(0.0, ny + high + 2.0 - box[1])
    total *= _OUTSIDE / 20.0
    for k in range(len(at)):
        if k == v:
            continue
        deep = _overlap(nx - names[k, 0], ny - names[k, 1], wide + half[k, 0] + 4.0, high + half[k, 1] + 1.0)
        if deep > 0.0:
            total += _NAME * (1.0 + 2.0 * deep)
        deep = _overlap(nx - at[k, 0], ny - at[k, 1], wide + radius + 2.0, high + radius + 2.0)
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
    p, radius, near = len(at), box[4], box[4] + box[5]
    total = max(0.0, 14.0 - x) + max(0.0, x + 14.0 - box[0]) + max(0.0, 14.0 - y) + max(0.0, y + 14.0 - box[1])
    total *= _OUTSIDE / 20.0
    for k in range(p):
        if k == v:
            continue
        dx, dy = x - at[k, 0], y - at[k, 1]
        off = np.hypot(dx / box[2], dy / box[3]) / apart[v, k] - 1.0
        total += off * off * (2.0 / p if off > 0.0 else 4.0 / p)
        gap = np.hypot(dx, dy)
        if gap < _APART * radius:
            total += _CROWDED * (1.0 - gap / (_APART * radius)) + (20.0 if gap < 3.0 * radius else 0.0)
        deep = _overlap(names[k, 0] - x, names[k, 1] - y, half[k, 0] + radius + 2.0, half[k, 1] + radius + 2.0)
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


@compiled(f8(_points, _points, _integers, _pairs, _points, _points, _points, f8[::1]))
def improve(at, names, sides, ends, apart, half, choices, box):  # type: ignore[no-untyped-def]
    """Move discs and names to better places, in place, until a round of the smallest steps changes little.

    ``box`` is the width and height of the picture, the pixels of one unit of ``apart`` each way, the radius of a disc,
    and what a line keeps from the rim of a third one.
    """
    step, total = _FIRST_STEP * max(box[2], box[3]), 0.0
    for v in range(len(at)):
        names[v, 0], names[v, 1] = _name_at(at[v, 0], at[v, 1], half[v], choices[sides[v]], box[4])
    for _ in range(_ROUNDS):
        gained, total = 0.0, 0.0
        for v in range(len(at)):
            x, y, side = at[v, 0], at[v, 1], sides[v]
            fixed = _disc_cost(v, x, y, at, names, half, ends, apart, box)
            before = _name_cost(v, x, y, names[v, 0], names[v, 1], at, names, half, ends, box) + _PREFERENCE * side
            best = before
            for other in range(len(choices)):
                nx, ny = _name_at(x, y, half[v], choices[other], box[4])
                cost = _name_cost(v, x, y, nx, ny, at, names, half, ends, box) + _PREFERENCE * other
                if cost < best:
                    best, side = cost, other
            best, before, bx, by = best + fixed, before + fixed, x, y
            for k in range(24):
                turn, reach = 2.0 * np.pi * k / 12.0 + (0.26 if k >= 12 else 0.0), step if k < 12 else 0.4 * step
                qx, qy = x + reach * np.cos(turn), y + reach * np.sin(turn)
                cost = _disc_cost(v, qx, qy, at, names, half, ends, apart, box) + _PREFERENCE * side
                if cost < best:
                    nx, ny = _name_at(qx, qy, half[v], choices[side], box[4])
                    cost += _name_cost(v, qx, qy, nx, ny, at, names, half, ends, box)
                    if cost < best:
                        best, bx, by = cost, qx, qy
            at[v, 0], at[v, 1], sides[v] = bx, by, side
            names[v, 0], names[v, 1] = _name_at(bx, by, half[v], choices[side], box[4])
            gained, total = gained + before - best, total + best
        if gained < 0.01 * len(at):
            if step <= 3.0:
                break
            step *= 0.5
        else:
            step = max(3.0, 0.9 * step)
    return total
