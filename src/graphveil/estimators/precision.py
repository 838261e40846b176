"""The dense default: a denoised precision matrix."""

from graphveil.estimators._mixins import BatchFitMixin, GaussianModelMixin
from graphveil.recovery.estimate import recover
from graphveil.released.release import Release

__all__ = ["PrivatePrecision"]


class PrivatePrecision(BatchFitMixin, GaussianModelMixin):
    """Covariance and precision matrix under differential privacy, denoised; the default estimator.

    Adaptive rounds (one event, one charge) and noise-aware shrinkage: :func:`graphveil.release`,
    then :func:`graphveil.recover`.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, against replacing all rows of one person. There are no defaults: this is your decision.
    bounds : pair (lower, upper) or mapping, optional
        The range of values, from public knowledge; each a number or one per column; or a mapping of column names to
        pairs, ``{"age": (0, 110)}``, which also selects columns.
    data_norm : float or "private", optional
        Bound on a row's Euclidean norm, or "private" to find one within the budget. ``bounds`` or ``data_norm`` is
        required.
    assume_centered : bool, default False
        Assume rows with mean zero; bounds then scale rows without shifting them.
    rows_per_person : int, default 1
        The largest number of rows of one person, if no column identifies the person.
    person : str, optional
        The column that identifies the person: each person counts once, as the average of their rows.
    weight : Weight, optional
        The column of survey weights and the largest that counts, ``gv.Weight("w", largest=10)``.
    ledger, dataset : Ledger and str, optional
        The ledger to which every fit is charged, and the name of the account.
    key : str, optional
        A name for the release in the ledger: a second fit with the same parameters returns it at no cost, whatever the
        rows. Never use one in cross-validation, where every fold has its own rows.
    random_state : int, optional
        None draws from the operating system's entropy. An int is for simulation only: the result is not private, and is
        marked as such.

    Attributes
    ----------
    precision_, covariance_, partial_correlations_ : (p, p) arrays
    location_ : (p,) array
    n_eff_ : float
        Number of noise-free rows that would give an equally accurate estimate.
    undetermined_ : (p,) array of bool
        Columns whose standard deviation may be off by more than a factor of 1.2.
    release_ : Release
        Save it: everything can be recomputed from it, for free.
    privacy_ : ReleaseEvent
        What was charged.
    n_features_in_ : int
    feature_names_in_ : (p,) array of str
        When the columns have names.

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 20_000, random_state=0)
    >>> model = gv.PrivatePrecision(epsilon=1.0, delta=1e-6, bounds=(-6, 6)).fit(rows)
    >>> model.precision_.shape
    (5, 5)
    >>> print(model.release_.guarantee)
    (1, 1e-06)-differentially private against replacing one record; the number of records, 20000, is public.
    """

    def _estimate(self, release: Release) -> None:
        found = recover(release)
        self.precision_, self.covariance_ = found.precision, found.covariance
        self.location_, self.n_eff_ = found.location, found.n_eff
        self.undetermined_ = found.undetermined
