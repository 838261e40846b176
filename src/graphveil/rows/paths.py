"""Paths of files with rows: resolves paths, directories, patterns and URIs, each file once.

A file that is reached twice would be summed twice, and a person in it would have twice the rows that were declared: it
is refused. So is anything that is not a file (a pipe, a device, a socket), which may never end or never begin.
"""

import os
import posixpath
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from graphveil.exceptions import SourceError
from graphveil.rows.sanitized_errors import call_sanitized

__all__ = ["FileVersion", "Place", "find_files", "versions_of"]

T = TypeVar("T")

_ANSWER_SECONDS = 60.0  # seconds for a first answer: stores answer in less than one, or after a few attempts
_OF_A_TABLE = re.compile(r"(^|/)(_delta_log|\.hoodie)/|(^|/)metadata/[^/]*\.metadata\.json$")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Place:
    """A file on a file system of pyarrow."""

    system: Any
    path: str

    @property
    def is_near(self) -> bool:
        """Whether it is in the file system of this machine."""
        return bool(self.system.type_name == "local")

    def identities(self) -> list[Hashable]:
        """What no other file shares: its path without detours, and on this machine what no link can hide."""
        if not self.is_near:
            return [(self.system.type_name, posixpath.normpath(self.path))]
        status = os.stat(self.path)
        number = [(status.st_dev, status.st_ino)] if status.st_ino else []  # some file systems have no such numbers
        return [os.path.realpath(self.path), *number]


@dataclass(frozen=True)
class FileVersion:
    """What differs if a file is written again or replaced: which file it is, its size, and when it was changed.

    Times are nanoseconds since 1970. A file that is moved keeps the time at which it was written; on a Unix system,
    what is ``changed`` by the move is its status, as by everything else that is done to it.
    """

    identities: tuple[Hashable, ...]
    size: int | None
    written: int | None
    changed: int | None


def versions_of(places: Sequence[Place]) -> list[FileVersion]:
    """The files at places that :func:`find_files` found for one source, as they are now."""
    infos = places[0].system.get_file_info([place.path for place in places])
    return [
        FileVersion(
            tuple(place.identities()),
            info.size,
            info.mtime_ns,
            os.stat(place.path).st_ctime_ns if place.is_near else None,
        )
        for place, info in zip(places, infos, strict=True)
    ]


def find_files(sources: Sequence[str], endings: Sequence[str]) -> list[Place]:
    """The files with one of these endings that sources stand for, those of each source in the order of their names."""
    places = [place for source in sources for place in _find(source, endings)]
    seen: dict[Hashable, str] = {}
    for place in places:
        identities = call_sanitized(place.identities, f"opened, file {place.path!r}")
        before = next((seen[identity] for identity in identities if identity in seen), None)
        if before is not None:
            other = "" if before == place.path else f", also as {before!r}"
            raise SourceError(
                f"The file {place.path!r} is reached twice{other}: its records would count twice. Name every file "
                "once; a directory or a pattern includes all files in it."
            )
        seen |= dict.fromkeys(identities, place.path)
    return places


def _find(source: str, endings: Sequence[str]) -> list[Place]:
    from pyarrow.fs import FileType

    shown, known = _name_source(source, endings), tuple(endings)
    system, path, kind = _look_up(source, shown)
    if kind == FileType.File:
        if not path.lower().endswith(known):
            raise SourceError(f"{shown} is not a supported file: its name must end in {', '.join(known)}.")
        return [Place(system, path)]
    if kind == FileType.Unknown:
        raise _no_file(shown)
    base, pattern = path.rstrip("/") or "/", None
    if kind != FileType.Directory:
        wild = _WILD.search(path)
        if wild is None:
            raise SourceError(f"{shown} is neither a file, a directory nor a pattern that matches files.")
        base = path[: wild.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")
        pattern = call_sanitized(partial(_translate, path), "opened")
    below = {name: is_file for name, is_file in _below(system, base).items() if _is_wanted(base, name, pattern)}
    found = sorted(name for name in below if name.lower().endswith(known))
    if not found:
        raise SourceError(
            f"{shown} matches no file whose name ends in {', '.join(known)}. Directories and patterns skip files and "
            "directories whose names begin with . or _."
        )
    for name in found:
        if not below[name]:
            raise _no_file(repr(name))
    return [Place(system, name) for name in found]


def _no_file(shown: str) -> SourceError:
    return SourceError(
        f"{shown} is not a file but a pipe, a device, a socket or a broken link. Rows are read several times: "
        "write them to a file."
    )


def _name_source(source: str, endings: Sequence[str]) -> str:
    """A source as errors may name it: without passwords, and not at all if it cannot be a path but may be data."""
    if "://" in source:
        scheme, _, place = source.partition("?")[0].partition("://")
        return repr(f"{scheme}://{place.rpartition('@')[2]}")
    is_path = source.lower().endswith(tuple(endings)) or source.startswith(("/", "./", "../"))
    return repr(source) if is_path or os.path.exists(source) else "That"


def _look_up(source: str, shown: str) -> tuple[Any, str, Any]:
    """File system, path, and the kind of what is there."""
    from pyarrow.fs import LocalFileSystem

    if "://" not in source:
        system = LocalFileSystem()
        return system, source, call_sanitized(lambda: system.get_file_info(source).type, "opened")

    def first_contact() -> tuple[Any, str, Any]:
        system, path = _from_uri(source)
        return system, path, system.get_file_info(path).type

    return call_sanitized(_answer(first_contact, shown).result, "opened")


def _answer(action: Callable[[], T], shown: str) -> "Future[T]":
    """What another machine says, if it says anything in time. A call that goes on waiting is left to its thread."""
    answer: Future[T] = Future()

    def act() -> None:
        try:
            answer.set_result(action())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=act, daemon=True).start()
    wait([answer], timeout=_ANSWER_SECONDS)
    if not answer.done():
        raise SourceError(
            f"{shown} did not respond within {_ANSWER_SECONDS:g} seconds. Check that it can be reached from here and "
            "that there are credentials for it. Nothing was read."
        )
    return answer


def _from_uri(uri: str) -> Any:
    """File system and path. Wildcards are no letters of a URI, and a question mark begins its options."""
    from pyarrow.fs import FileSystem

    place, mark, options = uri.partition("?")
    wild = _WILD.search(place)
    start = len(place) if wild is None else place.rfind("/", 0, wild.start())
    system, base = FileSystem.from_uri(place[:start] + mark + options)
    return system, base + place[start:]


def _below(system: Any, base: str) -> dict[str, bool]:
    """Everything below a directory but directories: its path, and whether it is a file."""
    from pyarrow.fs import FileSelector, FileType

    if system.type_name == "local":
        found = call_sanitized(lambda: dict(_walk(base, ())), "opened")
    else:
        infos = call_sanitized(lambda: system.get_file_info(FileSelector(base, recursive=True)), "opened")
        found = {info.path: info.type == FileType.File for info in infos if info.type != FileType.Directory}
    if any(_OF_A_TABLE.search(name[len(base) :]) for name in found):
        raise SourceError(
            "These files belong to a table of Delta, Iceberg or Hudi, which knows which of them count: some may hold "
            "records that were changed or deleted. Read it with its own engine, e.g. spark.table(...), and pass the "
            "frame."
        )
    return found


def _walk(base: str, above: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, bool]]:
    """Links are followed, but not back into a directory that the path has come through: that would have no end."""
    status = os.stat(base)
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    with os.scandir(base) as entries:
        for entry in entries:
            path = f"{base.rstrip('/')}/{entry.name}"
            if entry.is_dir():
                yield from _walk(path, (*above, here))
            else:
                yield path, entry.is_file()


def _is_wanted(base: str, name: str, pattern: "re.Pattern[str] | None") -> bool:
    """Whether a directory or a pattern stands for a file below it: not if anything on the way to it is hidden.

    Other readers of directories skip these too: programs keep in them what they have not finished or what is older.
    """
    if any(part.startswith(("_", ".")) for part in name[len(base) :].split("/")):
        return False
    return pattern is None or pattern.fullmatch(name.removeprefix("./")) is not None


def _translate(path: str) -> "re.Pattern[str]":
    """A pattern as a shell has it: * and ? stop at a slash, ** does not."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", path.removeprefix("./"))  # every second one is wild
    plain = [re.escape(part) for part in parts[::2]]
    special = [wild.get(part) or part.replace("[!", "[^", 1) for part in parts[1::2]]
    return re.compile("".join(a + b for a, b in zip(plain, [*special, ""], strict=True)))
