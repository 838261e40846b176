"""The numbers that the adaptive protocol is made with, as one versioned set."""

from dataclasses import dataclass

__all__ = ["PROTOCOL", "ProtocolParameters"]


@dataclass(frozen=True)
class ProtocolParameters:
    """What a release file must name for another machine to run the same protocol on its answers.

    Attributes
    ----------
    version : str
        Changes with every change of what is asked, or of how answers lead to the next question.
    """

    version: str = "5"


PROTOCOL = ProtocolParameters()
