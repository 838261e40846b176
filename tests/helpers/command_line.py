"""What the tests of the command line share."""

import re
import signal
import time
from contextlib import suppress
from pathlib import Path

RELEASE_OPTIONS = ("--epsilon", 1, "--delta", 1e-6, "-o", "out.release")


def wait_for_handlers(process, pid=None):
    """Until a command hears signals, or has ended: its handler of SIGTERM, the last it sets, is no longer Python's."""
    status = Path(f"/proc/{pid or process.pid}/status")
    for _ in range(6000):
        with suppress(OSError):
            caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.MULTILINE)
            if int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
        if process.poll() is not None:
            return
        time.sleep(0.01)
    raise AssertionError("the command has not begun")
