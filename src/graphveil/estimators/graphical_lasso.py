"""The network: a graphical lasso on a release, and the paper's Algorithm 2."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphveil import _validation
from graphveil._network_plot import Panel, plot_networks
from graphveil._typing import Matrix
from graphveil.estimators._paper_mode import PaperModeEstimator
from graphveil.exceptions import InvalidParameter, SolverError
from graphveil.ledger.account import LedgerLike
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.estimate import recover
from graphveil.recovery.network import Network
from graphveil.released.release import Release
from graphveil.solvers._admm import admm
from graphveil.solvers._graphical_lasso import graphical_lasso
from graphveil.solvers.solution import Solution
from graphveil.spec.weight import Weight

if TYPE_CHECKING:
    import networkx

__all__ = ["PrivateGraphicalLasso"]


class PrivateGraphicalLasso(PaperModeEstimator):
    """Sparse precision matrix under differential privacy: which columns are related, given all the others.

    Minimises −log det Θ + tr(SΘ) + Σ λ_ij |Θ_ij|. By default S is the release before denoising, whose noise is known
    entry by entry, and λ_ij is proportional to that noise; the scale is chosen on the release itself, at no cost. Clear
    edges are not shrunk. Below two effective records per column, S may be the denoised matrix or a mixture of both, as
    that choice finds best. With ``mechanism="paper"`` it is the paper's Algorithm 2 as printed: ADMM on a second moment
    with classically calibrated noise, every entry penalised by ``alpha``.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, against replacing all rows of one person. There are no defaults: this is your decision.
    alpha : "auto", "ebic", float > 0, list of them or (p, p) array
        "auto": penalties in proportion to each entry's noise, with their scale chosen by thinning (cross-validation on
        the release, at no cost). "ebic": the same with the extended BIC, which keeps fewer edges, from two effective
        records per column on. A number or a matrix: the penalty itself, off the diagonal of the correlation matrix. Of
        a list of numbers, thinning chooses the best. The paper's mechanism needs a number, in the units of its second
        moment.
    mechanism : {"default", "paper"}
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    noise_factor : float, default 1
        So many times the noise of ``mechanism="paper"``, for which (``epsilon``/noise_factor, ``delta``) is charged.
        The paper's tables have √2 times the noise of its text where ε < 1.
    rho, max_iter : float, int
        Parameters of the paper's ADMM, equations 2.7 to 2.9.
    tol : float > 0, optional
        By default the paper's ADMM does exactly ``max_iter`` plain iterations, as it did for the paper's tables. With a
        number it stops where Boyd's residuals are within it.
    bounds, data_norm, assume_centered, rows_per_person, person, weight, ledger, dataset, key, random_state
        As in :class:`~graphveil.PrivatePrecision`. The paper's mechanism assumes centred rows.

    Attributes
    ----------
    precision_, covariance_ : (p, p) arrays
        Inverse to each other; the precision matrix has exact zeros.
    alpha_ : float or (p, p) array
        The penalty that was used, of each entry where it was chosen here; in the units of ``alpha``.
    cv_results_ : dict
        Of a list of penalties: "alphas", with "mean_test_score" and "std_test_score" over draws of noise, the
        log-likelihoods that thinning finds.
    n_iter_ : int
        Sweeps or iterations of the solver.
    converged_ : bool
        False where the paper's ADMM has not reached a minimum after ``max_iter`` iterations. Noise can make S
        indefinite; with a small ``alpha`` no minimum exists then, as in most cells of the paper's Table 2.
    partial_correlations_, location_, n_eff_, release_, privacy_, n_features_in_, feature_names_in_
        As in :class:`~graphveil.PrivatePrecision`.

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(4, p=10, random_state=0), 50_000, random_state=0)
    >>> model = gv.PrivateGraphicalLasso(epsilon=1.0, delta=1e-6, bounds=(-8, 8)).fit(rows)
    >>> model.precision_.shape
    (10, 10)
    """

    alpha_: Any
    _analysis: Analysis | None
    _network: Network | None

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        alpha: Any = "auto",
        mechanism: str = "default",
        allow_unproven: bool = False,
        noise_factor: float = 1.0,
        rho: float = 1.0,
        max_iter: int = 1000,
        tol: float | None = None,
        bounds: Any = None,
        data_norm: float | str | None = None,
        assume_centered: bool = False,
        rows_per_person: int = 1,
        person: str | None = None,
        weight: Weight | None = None,
        ledger: LedgerLike | None = None,
        dataset: str | None = None,
        key: str | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            bounds=bounds,
            data_norm=data_norm,
            assume_centered=assume_centered,
            rows_per_person=rows_per_person,
            person=person,
            weight=weight,
            ledger=ledger,
            dataset=dataset,
            key=key,
            random_state=random_state,
        )
        self.alpha = alpha
        self.mechanism = mechanism
        self.allow_unproven = allow_unproven
        self.noise_factor = noise_factor
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol

    def _estimate(self, release: Release) -> None:
        self._analysis = self._network = None
        if release.event.mechanism == "paper":
            self.alpha_ = self._require_number_alpha()
            solution = self._run_algorithm_2(release.second_moment)
            self.location_, self.n_eff_ = release.moment_center, release.n_eff
        else:
            found, alpha = recover(release), self._check_alpha()
            self.location_, self.n_eff_, self._analysis = found.location, found.n_eff, Analysis(release, found)
            if isinstance(alpha, str):
                self._network = network = self._analysis.find_network(alpha)
                penalties = network.penalties / _scale(found.covariance)
                # Symmetric to the last bit, so that it can be given as alpha.
                solution, self.alpha_ = network.solution, (penalties + penalties.T) / 2.0
            else:
                self.alpha_ = self._choose_alpha(self._analysis, alpha) if np.ndim(alpha) == 1 else alpha
                solution = self._fit(found.covariance, self.alpha_)
        self.precision_, self.covariance_ = solution.precision, solution.covariance
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged

    def _fit(self, covariance: Matrix, alpha: float | Matrix) -> Solution:
        penalties = alpha * _scale(covariance)
        return graphical_lasso(covariance, penalties, penalize_diagonal=False, max_iter=self.max_iter)

    def _fit_each(self, covariance: Matrix, alphas: Matrix) -> list[Matrix]:
        return [self._fit(covariance, alpha).precision for alpha in alphas]

    def _run_algorithm_2(self, S: Matrix) -> Solution:
        settings: dict[str, Any] = {"rho": self.rho, "max_iter": self.max_iter}
        if self.tol is not None:
            try:
                return admm(S, self.alpha_, tol=self.tol, **settings)
            except SolverError:
                pass  # the last iterate, below
        return admm(S, self.alpha_, tol=None, **settings)

    def edge_intervals(self, level: float = 0.95) -> EdgeIntervals:
        """Intervals of all partial correlations, which account for privacy noise and sampling noise; free.

        They belong to the release: where ``alpha`` is a number or a matrix, they are those of ``alpha="auto"``.

        Parameters
        ----------
        level : float, default 0.95
            Coverage of each interval by itself. Measured: 94 to 95% at 95% for Gaussian rows, 93 to 97% on four real
            surveys; less if a person has several rows (``docs/accuracy.md``).

        Returns
        -------
        EdgeIntervals
            With ``estimate``, ``lower``, ``upper``, ``p_value``, and ``select(fdr=0.1)`` to choose edges; without
            numbers but with a ``reason`` where the release has less than two effective records per column, or where
            collinear columns hide everything else. Pairs of columns that are collinear with each other have none, which
            its ``note`` says.
        """
        check_is_fitted(self, "precision_")
        level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
        if self._analysis is None:
            raise InvalidParameter('Intervals need mechanism="default": the paper\'s noise is not denoised.')
        return self._analysis.find_intervals(level, self._network)

    def to_networkx(self, threshold: float = 0.0, *, significant: bool = False) -> "networkx.Graph":
        """Graph of the pairs whose partial correlation exceeds ``threshold`` in absolute value (needs networkx).

        A category of three levels or more is one node, and its edges have strengths without a sign. With
        ``significant=True`` only edges that are unlikely to be noise: those of ``edge_intervals().select()``.
        """
        graph = super().to_networkx(threshold)
        if significant:
            sure, place = self.edge_intervals().select(), {name: k for k, name in enumerate(graph)}
            graph.remove_edges_from([(a, b) for a, b in graph.edges if not sure[place[a], place[b]]])
        return graph

    def plot(self) -> Any:
        """The network, edges that could be noise dotted: a matplotlib figure, or SVG without matplotlib."""
        names, weights = self._associations()
        unsure = joint = None
        if self._analysis is not None:
            intervals = self.edge_intervals()
            unsure, joint = ~intervals.select(), None if intervals.df is None else intervals.df > 1
        np.fill_diagonal(weights, 0.0)
        return plot_networks(names, [Panel("", weights, unsure, joint=joint)])

    def _check_alpha(self) -> Any:
        rule = 'a positive number, a list of them, a symmetric matrix of numbers ≥ 0, "auto" or "ebic"'
        if isinstance(self.alpha, str):
            if self.alpha not in ("auto", "ebic"):
                raise InvalidParameter.of("alpha", rule, self.alpha)
            return self.alpha
        if np.ndim(self.alpha) == 2:
            penalty = np.asarray(self.alpha, dtype=np.float64)
            if not (np.isfinite(penalty).all() and (penalty >= 0).all() and np.array_equal(penalty, penalty.T)):
                raise InvalidParameter.of("alpha", rule, "another matrix")
            return penalty
        return self._check_penalties(rule)


def _scale(covariance: Matrix) -> Matrix:
    """Factors from penalties of correlations to those of covariances."""
    sd = np.sqrt(covariance.diagonal())
    return np.asarray(np.outer(sd, sd))
