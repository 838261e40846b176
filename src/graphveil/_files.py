"""Input and output of files: read whole if they are not endless, written whole or not at all.

An output may replace only an empty file or an earlier file of the same kind. Records, ledgers, paid releases, devices
and folders are never overwritten, whatever name was given.
"""

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from graphveil.exceptions import InvalidParameter

try:
    import fcntl
except ImportError:  # Windows, which does not let anybody remove a file that is open
    fcntl = None  # type: ignore[assignment]

__all__ = ["check_output", "read_file", "write_file"]

_EFFECTIVE = os.access in os.supports_effective_ids  # what this process may do, not who started it
_HEAD = 256  # bytes that identify the kind of a file
_SQLITE = b"SQLite format 3\0"
_LEFT = re.compile(r"\.graphveil-[0-9a-f]{16}")
_BESIDE = re.compile(r"(.+)-(?:journal|wal|shm|heads)")  # what SQLite and the ledger keep beside a database


def read_file(path: "str | os.PathLike[str]", most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes; a device or a pipe could go on for ever."""
    # So that a pipe is refused without waiting for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidParameter(f"{os.fspath(path)} is not a regular file; copy its content into one first.")
        if found.st_size > most:
            raise InvalidParameter(
                f"{os.fspath(path)} has {found.st_size:,} bytes, more than the {most:,} that can be read here."
            )
        return file.read(most)


def check_output(path: "str | os.PathLike[str]", content: bytes | None, like: "re.Pattern[bytes] | None") -> Path:
    """The file that writing to ``path`` would make or replace; refused where that would lose something.

    Parameters
    ----------
    path : path
        Links are followed.
    content : bytes or None
        What is to be written; None while it is not known.
    like : pattern or None
        How files of this kind begin, each of which may be replaced by another. None: only by itself.
    """
    name, target = os.fspath(path), Path(os.path.realpath(path))
    _check_folder(name, target)
    try:
        found = target.lstat()
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(found.st_mode):
        raise InvalidParameter(f"{name} is a folder; give the name of a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidParameter(f"{name} is not a regular file, and is not replaced by one. Choose another output.")
    if not os.access(target, os.W_OK, effective_ids=_EFFECTIVE):
        raise InvalidParameter(f"{name} is write-protected. Choose another output.")
    if found.st_size == 0:
        return target
    there = target.read_bytes() if content is not None and found.st_size == len(content) else _head(target)
    if there != content and (like is None or not like.match(there)):
        raise InvalidParameter(
            f"{name} already exists and is not overwritten: {_describe(there, like)}. Choose another output."
        )
    return target


def write_file(path: "str | os.PathLike[str]", content: bytes, like: "re.Pattern[bytes] | None" = None) -> None:
    """Write so that a crash leaves the old file or the new one, never half of one; see :func:`check_output`.

    A process that is killed meanwhile leaves a hidden file behind; the next to write there removes it.
    """
    target = check_output(path, content, like)
    is_new = not target.exists()
    _remove_leftovers(target.parent)
    temporary, handle = _make_temporary(target.parent)
    try:
        with os.fdopen(handle, "wb", closefd=fcntl is None) as file:  # Windows does not rename what is open
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not (is_new and _link(temporary, target, os.fspath(path))):
            os.replace(temporary, target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(handle)


def _check_folder(name: str, target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise InvalidParameter(f"The folder of {name} does not exist. Create it first, or choose another output.")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
        raise InvalidParameter(f"The folder of {name} cannot be written. Choose another output.")
    beside = _BESIDE.fullmatch(target.name)
    if beside and _head(folder / beside[1]).startswith(_SQLITE):
        raise InvalidParameter(f"{name} is a name that the ledger beside it uses itself. Choose another output.")


def _head(path: Path) -> bytes:
    """How a file begins; nothing, if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _describe(head: bytes, like: "re.Pattern[bytes] | None") -> str:
    if head.startswith(_SQLITE):
        return "it is a database, perhaps a ledger"
    if head.startswith(b"graphveil-release "):
        return "it holds another release, which was paid for"
    if like is None:
        return "what it holds would be lost"
    return "it is not an earlier file of this kind"


def _make_temporary(folder: Path) -> tuple[Path, int]:
    """A hidden file, locked for as long as it is open."""
    while True:
        path = folder / f".graphveil-{secrets.token_hex(8)}"
        # With the permissions that the user gives to new files: a release is public, but that is theirs to say.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with suppress(OSError):  # a file system without locks: nothing is removed there either
            _lock(handle, wait=True)
        if os.fstat(handle).st_nlink > 0:
            return path, handle
        os.close(handle)  # another took it for left behind, before it was locked


def _remove_leftovers(folder: Path) -> None:
    """Remove what writers left behind that were killed: no living one has its file unlocked."""
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if _LEFT.fullmatch(path.name)]:
            with suppress(OSError), path.open("rb") as file:
                _lock(file.fileno(), wait=False)
                path.unlink()


def _lock(handle: int, *, wait: bool) -> None:
    """Take the lock of an open file; without waiting, raise if another has it."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _link(temporary: Path, target: Path, name: str) -> bool:
    """Give the file its name, unless another has just taken it; False where the file system has no links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise InvalidParameter(f"{name} has just been written by another process. Choose another output.") from None
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Wait until the name of the file, too, would survive a power cut."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):  # some file systems cannot
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
