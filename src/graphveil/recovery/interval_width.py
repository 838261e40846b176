"""How wide an interval is whose errors are Gaussian."""

__all__ = ["half_width"]


def half_width(level: float) -> float:
    """From the middle of an interval of this level to its ends, in standard deviations: 1.96 for 95%."""
    from scipy.stats import norm

    return float(norm.isf((1.0 - level) / 2.0))
