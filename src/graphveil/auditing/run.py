"""An audit: release one of two neighbouring data sets, let an attacker guess which, and count."""

import numpy as np

from graphveil import _validation
from graphveil.auditing.attacker import Attacker
from graphveil.auditing.attacks import ATTACKS, AttackObservations, strength
from graphveil.auditing.confidence import mu_lower_bound
from graphveil.auditing.neighbours import Pair, pair_named
from graphveil.auditing.result import Audit
from graphveil.exceptions import InvalidParameter
from graphveil.spec.budget import Budget

__all__ = ["audit"]


def audit(budget: Budget, *, pair: str = "orthogonal", runs: int = 20_000, confidence: float = 0.999) -> Audit:
    """Try to break the guarantee of :func:`graphveil.release` as installed on this machine.

    Two data sets that differ in one record, chosen so that the proofs' inequalities are equalities, are released again
    and again. An attacker who knows everything except which of the two was released guesses from each release. The
    guesses prove a lower bound

        μ_low = Φ⁻¹(TPR_low) − Φ⁻¹(FPR_up)

    on the cost of the release. If it is above the claim, the guarantee is broken. If it is far below, the attack is
    weak or the runs are too few: for ``"orthogonal"``, 20,000 runs per side reach more than 85% of the claim at ε = 4.

    Parameters
    ----------
    budget : Budget
        The guarantee to attack. Larger ε needs fewer runs.
    pair : str, default "orthogonal"
        Which neighbouring data sets, and which kind of input: "orthogonal", "vanishing", "missing", "one column", "long
        rows", "huge rows", "two rows a person", "mean", "labels", "people", "adaptive people", "weights", "added",
        "added mean", "added people", "adaptive added", "frame", "batches", "collected", "paper", "private norm",
        "adaptive", "adaptive mean", "adaptive cells" or "adaptive long rows". The paper's mechanism is proved up to
        ε = 1 only; a private norm needs ε of at least 1 with so few rows.
    runs : int, default 20000
        Releases of each data set: about a millisecond each, with adaptive rounds about twenty. With too few, not even
        perfect guesses could prove the claim wrong, and the verdict says so.
    confidence : float, default 0.999
        Confidence of the bound, over all attacks together.

    Returns
    -------
    Audit

    Notes
    -----
    Four attacks use the same runs: the likelihood ratio under the declared law, over all rounds; and three that learn
    from the first half of the runs and are tested on the second: a direction, the low bits of the floats, and repeated
    numbers. Noise comes from the operating system, as in every private release: an audit of seeded noise would say
    nothing about it. The records are simulated, so nothing is charged to any ledger.

    Examples
    --------
    >>> import graphveil as gv
    >>> found = gv.audit(gv.Budget(8.0, 1e-6), runs=200)
    >>> found.broken
    False
    """
    if not isinstance(budget, Budget):
        raise InvalidParameter.of("budget", "a gv.Budget", budget)
    neighbours = pair_named(pair)
    runs = _validation.integer("runs", runs, 10)
    confidence = _validation.number("confidence", confidence, "strictly between 0 and 1", 0.0, 1.0, open_ends=True)
    claimed, without, within = _play(neighbours, budget, runs)
    alpha = (1.0 - confidence) / len(ATTACKS)
    shown = {attack: strength(attack, without, within, alpha) for attack in ATTACKS}
    best = max(shown, key=lambda attack: shown[attack])
    largest = float(mu_lower_bound(runs, 0, runs, alpha))
    return Audit(pair, budget, claimed, shown[best], largest, confidence, best, runs)


def _play(pair: Pair, budget: Budget, runs: int) -> tuple[float, AttackObservations, AttackObservations]:
    """What the releases claim, and what the attacker sees of each data set."""
    attacker = Attacker(pair)
    ratios, numbers = np.empty((2, runs)), []
    for run in range(runs):
        # By turns, so that noise that depends on time or on a counter favours neither.
        for side, known in enumerate((pair.without, pair.within)):
            made = pair.release(known, budget)
            ratios[side, run] = attacker.log_likelihood_ratio(made)
            first = made.answers[
                : 2 if made.event.hides_count else 1
            ]  # a secret number of people comes before the rest
            numbers.append(np.concatenate([v / answer.factor for answer in first for v in answer.values.values()]))
    table = np.array(numbers)
    return made.event.charged_mu, AttackObservations(ratios[0], table[0::2]), AttackObservations(ratios[1], table[1::2])
