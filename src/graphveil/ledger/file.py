"""The file of a ledger in SQLite: one name, readable by its owner only, with a witness of the charges next to it.

SQLite undoes a write that a crash has cut short by means of a journal, which is named after the file. Under a second
name (a hard link; the file itself mounted into a container) the journal is not seen: charges are granted, and the next
use of the first name undoes them. So a file with a second name is refused, whenever it is used.

The witness, ``ledger.db-heads``, is a text file to which every write of the ledger adds the head that it has
reached, synced before the call returns. A ledger that does not contain what its witness has seen was rolled back,
replaced by an older copy, or lost.
"""

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path

from graphveil.exceptions import LedgerDamaged, LedgerError
from graphveil.ledger.database_errors import plain_os_error

__all__ = ["LedgerFile", "is_cut_line"]

_SEEN = re.compile(r"(.+) (\d+:[0-9a-f]{64})")  # the hash comes last: a line that a crash cut short does not match
_CUT = re.compile(r"\d*(:[0-9a-f]*)?")


class LedgerFile:
    """Where a ledger is; links are followed, as SQLite does.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether there is a file. One that cannot be looked at counts: opening it says more."""
        try:
            self.path.stat()
        except FileNotFoundError:
            return False
        except OSError:
            pass
        return True

    def make(self) -> None:
        """An empty file that only its owner may read; an empty file is an empty SQLite database."""
        path = self.path.resolve()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            _sync_folder(path)
        except FileExistsError:
            return  # another process was faster
        except OSError as error:
            raise plain_os_error(error, f"The ledger {self.path} cannot be made") from None

    def check_one_name(self) -> None:
        """Refuse a file that can be reached under a second name."""
        path = self.path.resolve()
        try:
            links, mounted = path.stat().st_nlink, _is_mounted(path)
        except OSError:
            return  # opening it says more
        if links > 1:
            raise LedgerError(
                f"The ledger {self.path} has {links} names (hard links). After a crash, charges that were made under "
                "one name would be undone under another. Remove all names but one; a copy of the file is fine."
            )
        if mounted:
            raise LedgerError(
                f"The ledger {self.path} is mounted as a single file. After a crash, charges that were made inside "
                "would be undone outside, or the other way round. Mount the folder that holds it instead."
            )

    # ------------------------------------------------------------------ the witness
    @property
    def witness(self) -> Path:
        """Where the heads are kept."""
        path = self.path.resolve()
        return path.with_name(f"{path.name}-heads")

    def seen_heads(self) -> dict[str, str]:
        """The last head of every data set that the witness has seen: the number of a line, and its hash.

        Of a witness whose first line a crash has cut short, what is there of that line, with an empty head.
        """
        text, heads = self._read_witness()
        return heads if heads or not text else {text: ""}

    def add_heads(self, heads: Mapping[str, str]) -> None:
        """Add the heads that the witness has not seen, and wait for the disk."""
        before, seen = self._read_witness()
        text = "".join(f"{name} {head}\n" for name, head in heads.items() if seen.get(name) != head)
        if not text:
            return
        try:
            self._append(text if before.endswith("\n") or not before else f"\n{text}")
        except OSError as error:
            raise plain_os_error(
                error, f"What was written to the ledger {self.path} stays written, but {self.witness} cannot be"
            ) from None

    def _read_witness(self) -> tuple[str, dict[str, str]]:
        """What the witness says, and the heads in it."""
        try:
            text = self.witness.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return "", {}
        except OSError as error:
            raise plain_os_error(error, f"The ledger in {self.path} cannot be trusted without {self.witness}") from None
        heads = _heads(text)
        if ("\n" in text and not heads) or "\0" in text:
            raise LedgerDamaged(
                f"{self.witness} was overwritten and no longer records the charges of the ledger beside it. Restore "
                f"it, or delete it if the ledger continues from heads that you kept elsewhere."
            )
        return text, heads

    def _append(self, text: str) -> None:
        """One write at the end of the file, into which no other process's can fall."""
        new = not self.witness.exists()
        handle = os.open(self.witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if new and hasattr(os, "fchown"):  # whoever may use the ledger may use the witness
                like = self.path.stat()
                os.fchmod(handle, like.st_mode & 0o777)
                if os.geteuid() == 0:
                    os.fchown(handle, like.st_uid, like.st_gid)
            if os.write(handle, text.encode()) < len(text.encode()):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
        if new:
            _sync_folder(self.witness)


def _heads(text: str) -> dict[str, str]:
    """The last head of every data set; processes may have written theirs in any order."""
    found = [(match[1], match[2]) for match in map(_SEEN.fullmatch, text.split("\n")) if match]
    return dict(sorted(found, key=lambda pair: int(pair[1].split(":")[0])))


def is_cut_line(text: str, dataset: str) -> bool:
    """Whether ``text`` is how a line of the witness about a data set begins; it may end within a character."""
    text, begin = text.removesuffix("\N{REPLACEMENT CHARACTER}"), f"{dataset} "
    return begin.startswith(text) or (text.startswith(begin) and _CUT.fullmatch(text, len(begin)) is not None)


def _is_mounted(path: Path) -> bool:
    """Whether a file is itself a mount point: then it lies on another mount than its folder.

    The device is the same when a file of the same file system is mounted, so ``os.path.ismount`` is not enough.
    """
    try:
        return _mount_of(path) != _mount_of(path.parent)
    except (AttributeError, OSError, LookupError):  # no Linux, no /proc, or one that does not say
        return os.path.ismount(path)


def _mount_of(path: Path) -> str:
    # O_PATH does not open the file: closing it drops no lock that SQLite holds in this process.
    handle = os.open(path, os.O_PATH)
    try:
        facts = Path(f"/proc/self/fdinfo/{handle}").read_text()
    finally:
        os.close(handle)
    return dict(line.split(":", 1) for line in facts.splitlines() if ":" in line)["mnt_id"].strip()


def _sync_folder(path: Path) -> None:
    """The name of a new file, too, must survive a power cut."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
