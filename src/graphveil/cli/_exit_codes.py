"""Exit codes; docs/command-line.md says which commands may be run again."""

__all__ = ["BROKEN", "BUG", "DONE", "ELSEWHERE", "LATER", "LOST", "NO_BUDGET", "REFUSED", "SIGNALLED", "USAGE"]

DONE, REFUSED, USAGE, NO_BUDGET, BROKEN, ELSEWHERE, LOST, BUG, LATER = 0, 1, 2, 3, 4, 5, 6, 70, 75
SIGNALLED = 128  # and the number of the signal, as shells count
