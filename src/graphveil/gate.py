"""The gate: the only place where records meet noise.

Order of events, which is the guarantee's (``privacy/proofs/spending.md``, theorem 11):

1. check every parameter and the schema;
2. read, clip and sum the rows, exactly;
3. charge the whole event to the ledger, durably;
4. draw the noise, add it to the exact integers, and only then make floats.

Up to 3 a failure or an interruption spends nothing and shows nothing; from 3 on everything stays spent.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from graphveil.exceptions import GuaranteeError, InvalidParameter, PrivacyWarning, SourceError
from graphveil.spec import validate
from graphveil.spec.augment import checked_augment
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.lattice import MomentLayout
from graphveil.spec.released import Release, Round

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphveil.rows.moments import ExactMoments

__all__ = ["LedgerLike", "release"]


class LedgerLike(Protocol):
    """What the gate asks of a ledger."""

    def charge(self, dataset: str, event: ReleaseEvent) -> None:
        """Count ``event`` against ``dataset`` durably, or raise; noise is drawn after this returns."""
        ...


def release(
    source: Any,
    *,
    domain: Domain,
    budget: Budget,
    rounds: int = 1,
    augment: Any = None,
    mechanism: str = "default",
    allow_unproven: bool = False,
    ledger: LedgerLike | None = None,
    dataset: str | None = None,
    progress: Callable[[int], None] | None = None,
    random_state: int | None = None,
) -> Release:
    """Publish the second moment of records under differential privacy.

    Parameters
    ----------
    source : array, data frame, or collection of such batches
        The records, one row each. With :class:`~graphveil.Labels` without a column: a pair ``(rows, labels)``.
    domain : Domain
        What is assumed of a row, from public knowledge.
    budget : Budget
        The guarantee to keep.
    rounds : int, default 1
        Number of rounds. One is available.
    augment : None, "mean", Constant or Labels
        "mean" releases the mean in the same event; :class:`~graphveil.Labels` class counts and class means. With None
        rows are taken to be centred: bounds scale them and do not shift.
    mechanism : {"default", "paper"}
        "paper" is Algorithm 1's noise exactly as printed, for comparison: more noise for the same guarantee.
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    ledger, dataset : optional
        Where the event is charged, and under which name.
    progress : callable, optional
        Called with the number of rows read so far.
    random_state : int, optional
        None draws from the operating system's entropy. An int is for simulation only: the result is marked as seeded
        and not private, and charged as μ = ∞.

    Returns
    -------
    Release

    Guarantee
    ---------
    Unless seeded, the result is (ε, δ)-differentially private against replacing all rows of one person, in exact
    integer arithmetic, with n public. No message, warning or repr holds a number computed from rows before noise.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> out = release(rows, domain=Domain(bounds=(-4, 4)), budget=Budget(1.0, 1e-6))
    >>> out.second_moment.shape
    (3, 3)
    >>> print(out.guarantee)
    (1, 1e-06)-differentially private against replacing one record; the number of records, 5000, is public.
    """
    if not isinstance(domain, Domain):
        raise InvalidParameter.of("domain", "a gv.Domain", type(domain).__name__)
    if not isinstance(budget, Budget):
        raise InvalidParameter.of("budget", "a gv.Budget", budget)
    augment = checked_augment(augment)
    validate.choice("mechanism", mechanism, ["default", "paper"])
    validate.flag("allow_unproven", allow_unproven)
    validate.integer("rounds", rounds, 1, 1)
    if mechanism == "paper" and augment is not None:
        raise InvalidParameter.of("augment", 'None with mechanism="paper"', augment)
    if (ledger is None) != (dataset is None):
        raise InvalidParameter("ledger and dataset go together: a charge needs to know which data it is for.")

    # Heavy modules load here, after the cheap refusals.
    from graphveil.privacy.mechanisms import moment_step
    from graphveil.privacy.randomness import noise_source
    from graphveil.rows.accumulate import accumulate
    from graphveil.rows.blocks import open_source
    from graphveil.rows.clipping import Encoder

    noise = noise_source(random_state)
    blocks = open_source(source, domain, augment)
    domain = domain.matched_to(blocks.columns, blocks.n_features)
    layout = MomentLayout(blocks.n_features, augment)
    encoder = Encoder(domain, augment)
    step = moment_step(encoder.lattice, layout, domain, budget, mechanism, allow_unproven=allow_unproven)

    moments = accumulate(blocks, encoder, progress)
    n = moments.n_rows
    if n == 0:
        raise SourceError("The source has no rows.")
    event = ReleaseEvent(
        budget, step.mu, step.eta, mechanism, n, domain.rows_per_person, domain.neighbours, seeded=noise.seeded
    )
    _check_event(event, allow_unproven)
    if ledger is not None and dataset is not None:
        ledger.charge(dataset, event)
    rounds_done = (Round(step, _noisy_averages(moments, layout, step, encoder.lattice.unit, noise)),)
    return Release(event, domain, augment, rounds_done, dict(_versions()))


def _noisy_averages(
    moments: "ExactMoments", layout: MomentLayout, step: GaussianStep, unit: float, noise: Any
) -> "dict[str, NDArray[np.float64]]":
    """Add noise to exact integers; floats are made from the noisy ones only."""
    from graphveil.privacy.mechanisms import draw_noise

    diagonal, off_diagonal = layout.split(moments.total())
    exact = {"diagonal": diagonal, "off_diagonal": off_diagonal}
    if step.sd("trace") is not None:
        exact["trace"] = diagonal.sum(keepdims=True)
    drawn = draw_noise(step, noise)
    to_scaled = unit * unit / moments.n_rows
    averages = {}
    for group in step.groups:
        noisy = (exact[group.name] << -step.lattice) + drawn[group.name].astype(object)
        averages[group.name] = noisy.astype(float) * 2.0**step.lattice * to_scaled
    return averages


def _check_event(event: ReleaseEvent, allow_unproven: bool) -> None:
    n, delta = event.n_samples, event.budget.delta
    if delta >= 1.0 / n:
        warnings.warn(
            f"delta={delta:g} is at least 1/n for n={n} records: a mechanism that publishes one record at random would "
            "satisfy it. Choose delta well below 1/n.",
            PrivacyWarning,
            stacklevel=3,
        )
    if not event.seeded and not event.keeps_budget and not allow_unproven:
        raise GuaranteeError("The noise does not keep the budget; nothing is released.")


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("graphveil", "numpy", "opendp")}
