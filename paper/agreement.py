"""Which cells of the tables as printed agree with the paper: within 15% of its value or two of its standard errors."""

CLOSE = 0.15
LAST_DIGIT = 0.01  # the paper prints two decimals


def agrees(row: dict[str, str]) -> bool:
    """Whether one cell is within 15% of the paper's mean, or within two of its standard errors."""
    mean, theirs, se = (float(row[name]) for name in ("mean", "paper_mean", "paper_se"))
    return abs(mean - theirs) <= max(CLOSE * theirs, 2 * se)


def within_rounding(row: dict[str, str]) -> bool:
    """Whether 15% of some number that the paper would have printed in the same way covers the cell."""
    mean, theirs = float(row["mean"]), float(row["paper_mean"])
    low, high = theirs - LAST_DIGIT / 2, theirs + LAST_DIGIT / 2
    return (1 - CLOSE) * low <= mean <= (1 + CLOSE) * high
