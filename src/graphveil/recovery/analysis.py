"""From an estimate to a network and its intervals, composed once, with the seeds that belong to the release.

Simulation chooses penalties and calibrates intervals. Its seeds come from the release's own numbers, so that the
estimator, the report and the command line show the same numbers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphveil._random import generator_for
from graphveil._typing import Matrix
from graphveil.recovery.edge_intervals import EdgeIntervals, edge_intervals
from graphveil.recovery.estimate import Estimate
from graphveil.recovery.network import Network, find_network, network_path, thinned_losses
from graphveil.released.release import Release

__all__ = ["Analysis"]

_DRAWS = 10  # of noise, to compare given penalties


@dataclass(frozen=True, eq=False)
class Analysis:
    """A release and its estimate, and what follows from them.

    Attributes
    ----------
    release : Release
    estimate : Estimate
    """

    release: Release
    estimate: Estimate

    @cached_property
    def network(self) -> Network:
        """The network whose penalty thinning chooses; made when first asked for."""
        return self.find_network("auto")

    def find_network(self, choice: str) -> Network:
        """The network whose penalty is chosen by ``choice``, "auto" (thinning) or "ebic"."""
        generator = generator_for(self.release.stream, "network")
        return find_network(self.estimate.noisy, self.estimate.n_eff, choice, generator)

    def score_fits(self, fits: Callable[[Matrix], Iterable[Matrix]]) -> Matrix:
        """Mean log-likelihoods of fits to a covariance, by thinning: a row for each draw of noise."""
        generator, noisy = generator_for(self.release.stream, "penalties"), self.estimate.noisy
        losses = thinned_losses(noisy, fits, _DRAWS, generator)
        return np.asarray(-(losses + len(noisy.matrix) * np.log(2.0 * np.pi)) / 2.0)

    def find_path(self, most_edges: int) -> list[Network]:
        """The same network at other penalties."""
        return network_path(self.network, most_edges)

    def find_intervals(self, level: float, network: Network | None = None) -> EdgeIntervals:
        """Intervals of all pairs about a network; about :attr:`network`, unless another one is given."""
        chosen, generator = network or self.network, generator_for(self.release.stream, "edges")
        names, variables = self.release.column_names, self.release.variables
        estimate = self.estimate
        return edge_intervals(
            estimate.noisy, chosen, estimate.n_eff, level, generator, names, variables, estimate.undetermined
        )
