"""Survey weights: how many members of the population a record represents, up to a limit."""

from dataclasses import dataclass

from graphveil import _validation
from graphveil.spec.serialization import Record

__all__ = ["Weight"]

_SMALLEST, _LARGEST = 2.0**-490, 2.0**490  # only the ratio of a weight to the largest counts


@dataclass(frozen=True)
class Weight(Record):
    """A column of survey weights; weighted means and moments are released.

    Parameters
    ----------
    column : str
        The column that holds the weights. It is not released.
    largest : float
        The largest weight that a record may have, from public knowledge, such as the limit to which the survey's
        weights were trimmed; never from the data. A larger weight counts as this one, and one that is negative or
        missing as 0. Noise is in proportion to ``largest`` over the mean weight.

    Examples
    --------
    >>> from graphveil import Domain
    >>> Domain({"age": (0, 110), "income": (0, 1e6)}, weight=Weight("w", largest=10)).weight
    Weight(column='w', largest=10.0)
    """

    column: str
    largest: float

    def __post_init__(self) -> None:
        _validation.text("column of the weights", self.column)
        rule = f"a positive number between {_SMALLEST:.0e} and {_LARGEST:.0e}"
        largest = _validation.number("largest weight", self.largest, rule, _SMALLEST, _LARGEST)
        object.__setattr__(self, "largest", largest)

    @property
    def sentence(self) -> str:
        """The sentence about weights in a guarantee."""
        largest = f"{self.largest:g} as the largest weight"
        return f"Records are weighted, with {largest}; the total weight was released with noise."
