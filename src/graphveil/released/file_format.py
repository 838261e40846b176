r"""The file of a release: a first line, a JSON header, numbers, a checksum. Nothing in it is executed.

::

    graphveil-release 1\n
    <length of the header in bytes>\n
    <JSON header>\n
    <float64 arrays, little endian, in the order of the header>
    <SHA-256 of everything above>
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import ReleaseFileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.float64]]

__all__ = ["decode", "encode"]

_MAGIC = b"graphveil-release "
_VERSION = 1
_DIGEST = 32


def encode(header: dict[str, Any], arrays: "list[Arrays]") -> bytes:
    """Bytes of a release: ``arrays`` has one dictionary of vectors per round."""
    shapes = [[[name, values.size] for name, values in group.items()] for group in arrays]
    text = json.dumps({**header, "arrays": shapes}, sort_keys=True, allow_nan=False).encode()
    numbers = b"".join(values.astype("<f8").tobytes() for group in arrays for values in group.values())
    body = _MAGIC + b"%d\n%d\n" % (_VERSION, len(text)) + text + b"\n" + numbers
    return body + hashlib.sha256(body).digest()


def decode(content: bytes, name: str) -> "tuple[dict[str, Any], list[Arrays]]":
    """Undo :func:`encode`, or say what is wrong with ``content``."""
    import numpy as np

    if not content.startswith(_MAGIC):
        raise ReleaseFileError(f"{name} is not a graphveil release: it does not begin like one.")
    first, _, rest = content.partition(b"\n")
    version = first[len(_MAGIC) :]
    if version != b"%d" % _VERSION:
        shown = version[:20].decode("ascii", "replace")
        raise ReleaseFileError(
            f"{name} has release format {shown!r}; this graphveil reads format {_VERSION}. Use the one that wrote it."
        )
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if len(content) <= _DIGEST or hashlib.sha256(body).digest() != digest:
        raise ReleaseFileError(f"{name} is damaged: its checksum does not match. Get it again from its source.")
    # From here on the content is what `encode` wrote, or was forged together with its checksum: still no trust.
    try:
        length, _, rest = rest.partition(b"\n")
        size = int(length)
        header = json.loads(rest[:size].decode())  # of bytes, json would guess the encoding
        shapes = header.pop("arrays")
        numbers = np.frombuffer(rest[size + 1 : -_DIGEST], dtype="<f8")
        arrays: list[Arrays] = []
        start = 0
        for group in shapes:
            arrays.append({})
            for key, count in group:
                if type(count) is not int or not 0 <= count <= numbers.size - start:
                    raise ValueError
                arrays[-1][key] = numbers[start : start + count].astype(np.float64)
                start += count
        if start != numbers.size or not np.isfinite(numbers).all():
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReleaseFileError(f"{name} is not a valid release: header and numbers do not fit together.") from None
    return header, arrays
