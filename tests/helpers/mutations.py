"""Hostile variants of good files and records, each from one number, so that a failure can be repeated."""

import copy
import hashlib
import json
import math
import random
import struct

from graphveil.released import file_format

# What breaks programs: ends of ranges, other types, other alphabets, deep and wide structures.
HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**400, -(10**400),
    0.0, -0.0, 0.5, 1.5, 1e-300, 5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan,
    "", "x", "\0", "\ud800", "private", "replace", "default", "paper", "adaptive", "one", "Domain", "Labels", "Moments",
    "NormCounts", "ClippedTail", "RowMap", "__class__", "__init__", "../../etc/passwd", "a" * 5000, "%s%n{0}", "é", "🂡",
    [], [[]], {}, [1], [0, 0], ["a", "a"], [1, [2, [3]]], [[1, 2], [3, 4]], {"kind": "Budget"}, {"kind": None},
    {"kind": "Budget", "epsilon": 1, "delta": 1e-6}, {"kind": "Record"}, {"__reduce__": ["os.system", ["true"]]},
]  # fmt: skip

ODD_NUMBERS = [math.nan, math.inf, 0.0, -1.0, 1e308, 5e-324, 2.0**52]


def mutated_json(value, rng, changes=None):
    """A copy of ``value`` with a few places replaced, removed, doubled, moved or nested."""
    value = copy.deepcopy(value)
    for _ in range(changes or rng.choice([1, 1, 1, 2, 4])):
        holder, key = _place(value, rng)
        if holder is None:
            return copy.deepcopy(rng.choice(HOSTILE))
        action = rng.randrange(7)
        if action <= 2:
            holder[key] = copy.deepcopy(rng.choice(HOSTILE))
        elif action == 3:
            del holder[key]
        elif action == 4:
            _, other = _place(value, rng)
            if isinstance(holder, dict):
                holder[str(other)] = copy.deepcopy(holder[key])
            else:
                holder.append(copy.deepcopy(holder[key]))
        elif action == 5:
            holder[key] = _nested(holder[key], rng)
        elif isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = _nudged(holder[key], rng)
    return value


def _place(value, rng):
    """A random (container, key) inside ``value``."""
    places = []
    stack = [value]
    while stack:
        item = stack.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else []
        for key in keys:
            places.append((item, key))
            stack.append(item[key])
    return rng.choice(places) if places else (None, None)


def _nested(value, rng):
    for _ in range(rng.choice([1, 2, 50, 150])):
        value = [value] if rng.random() < 0.5 else {"kind": value}
    return value


def _nudged(value, rng):
    if abs(value) > 1e150:
        return -value
    return rng.choice([-value, value * 2, value / 3, value + 1, value * 1e150, value * 1e-150, str(value)])


def mutated_release(content, rng):
    """A hostile variant of the bytes of a release; half of them with a checksum that fits."""
    action = rng.randrange(5)
    if action == 0:
        return mutated_bytes(content, rng)
    if action == 1:
        body = mutated_bytes(content[:-32], rng)
        return _signed(body)
    header, arrays = file_format.decode(content, "x")
    shapes = [[[name, values.size] for name, values in group.items()] for group in arrays]
    numbers = [float(v) for group in arrays for values in group.values() for v in values]
    header["arrays"] = shapes
    if action in (2, 3):
        header = mutated_json(header, rng)
    if action in (3, 4):
        for _ in range(rng.choice([1, 3, 20])):
            if numbers:
                numbers[rng.randrange(len(numbers))] = rng.choice(ODD_NUMBERS)
        if rng.random() < 0.3:
            numbers = numbers[: rng.randrange(len(numbers) + 1)] + numbers[: rng.randrange(3)]
    return assembled(header, numbers)


def mutated_numbers(content, rng):
    """The bytes of a release with a few numbers changed as a forger would: within reason, and the checksum right."""
    header, arrays = file_format.decode(content, "x")
    for _ in range(rng.choice([1, 1, 2, 5])):
        group = rng.choice(arrays)
        values = group[rng.choice([name for name in group if group[name].size])]
        at = slice(None) if rng.random() < 0.15 else rng.randrange(values.size)
        values[at] = rng.choice([0.0, 1.0, -1.0, 900.0, -900.0, 2.0**20, -(2.0**20), 2.0**30, 1e-300, 1e150])
        if rng.random() < 0.6:
            values[at] = rng.choice([-1.0, 0.5, 2.0, 1e-3, 1e3]) * values[at]
    return file_format.encode(header, arrays)


def assembled(header, numbers):
    """Bytes of a release with any header and numbers, and the checksum that belongs to them."""
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    body = b"graphveil-release 1\n%d\n" % len(text) + text + b"\n" + struct.pack(f"<{len(numbers)}d", *numbers)
    return _signed(body)


def _signed(body):
    return body + hashlib.sha256(body).digest()


def mutated_bytes(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice([1, 2, 10])):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(5)
        if action == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif action == 1:
            del data[at : at + rng.choice([1, 8, 100])]
        elif action == 2:
            data[at:at] = rng.randbytes(rng.choice([1, 8, 100]))
        elif action == 3:
            data[at : at + 8] = struct.pack("<d", rng.choice([math.nan, math.inf, 1e308, -1.0]))
        else:
            data[at:at] = rng.choice([b"\n", b"0", b"9" * 5000, b"{", b"[" * 3000, b'"', b"-1", b"1e999", b"\xff"])
    return bytes(data)


def numbered(start, count):
    """Pairs of a case's number and its generator."""
    for number in range(start, start + count):
        yield number, random.Random(number)
