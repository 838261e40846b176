"""From a release to a precision matrix, for free."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil._packages import import_package
from graphveil._threads import blas_threads_for
from graphveil.exceptions import InvalidParameter, PrivacyWarning, warn_caller
from graphveil.metrics import partial_correlations
from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.schedule import Schedule
from graphveil.protocol.stage import QueryBatch, run_protocol
from graphveil.recovery.adaptive_protocol import Conclusion, adaptive_rounds, recall
from graphveil.recovery.clipped_cells import restorable, restore_cells
from graphveil.recovery.collinearity import collinear_columns
from graphveil.recovery.diagnostics import pair_warnings, warnings_for
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.hidden_tails import find_hidden_tails
from graphveil.recovery.missing_values import complete
from graphveil.recovery.moment_intervals import column_estimates, column_table, correlation_intervals
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.recovery.shrinkage import denoise, refined_trace_sd
from graphveil.released.answers import Answer
from graphveil.released.grouped import require_release
from graphveil.released.merged import MergedRelease
from graphveil.released.release import Release
from graphveil.spec.augmentation import Labels
from graphveil.spec.kinds import Category
from graphveil.spec.queries import Moments, Query

__all__ = ["Estimate", "estimate_release", "recover", "recover_moments", "require_covariance"]

_SATURATED = 0.8  # of the squared norm bound
_UNDETERMINED = 1.0 / 3.0  # relative noise of a variance where nothing but its noise is known


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """An estimate in user's units, made by :func:`graphveil.recover`.

    Attributes
    ----------
    covariance : (p, p) array
        Positive definite.
    location : (p,) array
        The point about which the covariance is taken.
    n_eff : float
        Number of noise-free rows that would give an equally accurate estimate. Below p, edges are not reliable.
    location_sd : (p,) array
        Standard deviations of the location, due to noise, to sampling, and to what clipping may have removed.
    location_shift : (p,) array
        The part of it that is due to clipping.
    relative_sd : (p,) array
        Standard deviations of the logarithms of the variances, due to noise and to what clipping may have removed. Half
        of it is the relative standard deviation of a column's scale, and so of its regression coefficients.
    tail_sd : (p,) array
        The same, due to tails that the release cannot see although the bounds allow them. Intervals of regressions
        account for both.
    fourth_moment : (p,) array
        Fourth central moments divided by squared variances, as far as they are known; 3 for a dense column.
    undetermined : (p,) array of bool
        Columns whose standard deviation may be off by more than a factor of 1.2. Narrower public bounds would help.
    hidden_tails : (p,) array of bool
        Columns whose bounds allow tails that would change their standard deviation, and that the release cannot see:
        it has no interval. Narrower public bounds would help, or more records.
    unseen_rows : float
        Share of the rows in which columns may be unrelated that are collinear in all others, without the release
        showing it.
    flat : bool
        The release shows no structure above its noise.
    unresolved : bool
        Some directions lie within the noise; do not interpret partial correlations along them.
    saturated : bool
        Many rows reach the norm to which they are clipped: the estimate mostly describes the clipping. A larger public
        ``data_norm`` would help.
    columns : tuple of str or None
        Names of the columns, if they have any.
    noisy : NoisyCovariance
        The covariance before denoising, with the law of its noise.
    evened : NoisyCovariance
        The same, corrected for clipping that removed more from some directions than from others, as far as the release
        shows it. Regressions use it (:mod:`graphveil.recovery.uneven_loss`).
    comparable : NoisyCovariance
        The same without the errors that clipping made, which are alike in groups that are clipped alike: comparisons
        of groups use it.
    given_back_sd : (p,) array
        Standard deviations of the factors by which covariances of a column were given back what clipping took.
    """

    covariance: NDArray[np.float64]
    location: NDArray[np.float64]
    n_eff: float
    location_sd: NDArray[np.float64]
    location_shift: NDArray[np.float64]
    relative_sd: NDArray[np.float64]
    tail_sd: NDArray[np.float64]
    fourth_moment: NDArray[np.float64]
    undetermined: NDArray[np.bool_]
    hidden_tails: NDArray[np.bool_]
    unseen_rows: float
    flat: bool
    unresolved: bool
    saturated: bool
    columns: tuple[str, ...] | None
    noisy: NoisyCovariance
    evened: NoisyCovariance
    comparable: NoisyCovariance
    given_back_sd: NDArray[np.float64]

    @cached_property
    def collinear(self) -> tuple[tuple[int, ...], ...]:
        """Groups of nearly collinear columns, as far as the release can tell."""
        return collinear_columns(self.noisy)

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """The inverse of the covariance, positive definite; computed when first asked for."""
        scale = np.sqrt(np.diag(self.covariance))
        inverse = np.linalg.inv(self.correlation) / scale[:, None] / scale
        return np.asarray((inverse + inverse.T) / 2.0)

    @property
    def correlation(self) -> NDArray[np.float64]:
        """Correlations; pass these, not the covariance, to a penalised solver unless all columns share a unit."""
        scale = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(scale, scale))

    @property
    def variance_sd(self) -> NDArray[np.float64]:
        """Standard deviations of the variances: noise, sampling, and what clipping may have removed."""
        sampling = (self.fourth_moment - 1.0) * self.noisy.sampling
        return np.asarray(np.diag(self.covariance) * np.sqrt(self.relative_sd**2 + sampling))

    @property
    def correlation_sd(self) -> NDArray[np.float64]:
        """Standard deviations of the correlations, to first order, from the same; 0 on the diagonal.

        Where two columns are so nearly collinear that the last round would clip rows in which they are not, a share of
        the rows up to ``unseen_rows`` may be missing from what is between them, with equal probability.
        """
        between = 1.0 - np.abs(self.correlation)
        np.fill_diagonal(between, np.inf)
        clipped = between < PROTOCOL.unrelated_rows * self.unseen_rows
        return np.asarray(np.hypot(self.noisy.correlation_sd, np.where(clipped, self.unseen_rows / np.sqrt(3.0), 0.0)))

    @property
    def partial_correlations(self) -> NDArray[np.float64]:
        """Correlations of pairs given all other columns; 1 on the diagonal."""
        return partial_correlations(self.precision)

    def correlation_intervals(self, level: float = 0.95) -> EdgeIntervals:
        """Correlations of all pairs, before denoising, with their intervals."""
        return correlation_intervals(self, _check_level(level))

    def summary(self, level: float = 0.95) -> str:
        """A table of the columns as text: means and standard deviations with their intervals."""
        names = self.columns or tuple(f"x{k}" for k in range(len(self.covariance)))
        return column_table(self, names, _check_level(level)).to_text()

    def plot(self, level: float = 0.95, most: int = 30) -> Any:
        """The surest correlations with their intervals: axes of matplotlib, or SVG where it is not installed."""
        return self.correlation_intervals(level).plot(most)

    def to_frame(self, level: float = 0.95) -> Any:
        """The same as a data frame. Needs pandas."""
        pd = import_package("pandas", "to_frame")

        return pd.DataFrame(column_estimates(self, _check_level(level)), index=self.columns)

    def __repr__(self) -> str:
        notes = [name for name in ("flat", "unresolved", "saturated") if getattr(self, name)]
        notes += [f"undetermined: {self.undetermined.sum()}"] if self.undetermined.any() else []
        facts = [f"{len(self.covariance)} columns", f"n_eff = {self.n_eff:.4g}", *notes]
        return f"<Estimate: {', '.join(facts)}>"


def _check_level(level: float) -> float:
    return _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)


def recover(release: Release) -> Estimate:
    """Estimate the covariance and its inverse from a release.

    Noisy second moments are denoised in coordinates in which their noise is the same in all directions, and transformed
    back. The result is always positive definite. For an adaptive release, the protocol that asked the queries is run
    again on the answers.

    Parameters
    ----------
    release : Release

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 20_000, random_state=0)
    >>> out = gv.release(
    ...     rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(1.0, 1e-6), random_state=0
    ... )
    >>> gv.recover(out).precision.shape
    (5, 5)
    """
    result = recover_moments(release)
    for caution in pair_warnings(release, result):
        warn_caller(caution, PrivacyWarning)
    return result


def recover_moments(release: Release) -> Estimate:
    """:func:`recover` for those who do not read partial correlations, without warnings about these."""
    require_covariance(release)
    result = estimate_release(release)
    for caution in warnings_for(release, result):
        warn_caller(caution, PrivacyWarning)
    return result


def require_covariance(given: Any) -> None:
    """Refuse what is not a release, and a release that does not hold one covariance."""
    require_release("release", given)
    if isinstance(given.augment, Labels):
        raise InvalidParameter(
            "A release with labels holds class counts and class means (release.class_counts, release.class_locations), "
            "not one covariance. For a covariance, release without labels."
        )


def estimate_release(release: Release) -> Estimate:
    """:func:`recover` without warnings."""
    with blas_threads_for(release.domain.require_n_features()):
        return _estimate_merged(release) if isinstance(release, MergedRelease) else _estimate_one(release)


def _estimate_one(release: Release) -> Estimate:
    return _estimate_adaptive(release) if release.event.rounds == "adaptive" else _estimate_one_round(release)


def _estimate_adaptive(release: Release) -> Estimate:
    """From several rounds: in the user's units, and of records that are there, what the protocol concludes."""
    centre, half = release.scaling
    scale = np.outer(half, half)
    estimate = _replay(release)
    noisy = NoisyCovariance(
        estimate.noisy * scale,
        ((half[:, None] * estimate.back, estimate.noise),),
        estimate.covariance * scale,
        _kurtosis(release, estimate) / release.n_kish,
        estimate.single * scale**2,
    )
    comparable = replace(noisy, single=estimate.by_chance * scale**2)
    unwhiten, single = half[:, None] * estimate.unwhiten, estimate.meeting * scale**2
    categories = restorable(_categories(release))
    if estimate.clipped is not None and len(categories) > 1:
        clipped, levels = estimate.clipped.in_units(centre, half), np.concatenate(categories)
        noisy = restore_cells(noisy, centre + half * estimate.location, clipped, categories)
        # What they lost unevenly is given back already.
        square = np.ix_(levels, levels)
        unwhiten[levels], single[square] = 0.0, np.asarray(noisy.single)[square]
    evened = estimate.uneven.give_back(noisy, unwhiten, single)
    there = np.ones(half.size)
    if release.domain.gaps:
        noisy, evened = complete(noisy, release.observed), complete(evened, release.observed)
        comparable, there = complete(comparable, release.observed), np.diag(release.observed)
    shift = half * estimate.shift / there
    return Estimate(
        covariance=noisy.denoised,
        location=_clamp_to_bounds(release, centre + half * estimate.location),
        n_eff=release.n_eff,
        location_sd=_location_sd(release, noisy.denoised, 1.0 / (there * release.n_kish), shift),
        location_shift=shift,
        relative_sd=np.hypot(estimate.relative_sd, release.divisor_noise),
        tail_sd=estimate.tail_sd,
        fourth_moment=np.maximum(estimate.fourth * there, np.minimum(estimate.fourth, 3.0)),
        undetermined=estimate.doubt > PROTOCOL.doubt,
        hidden_tails=_hidden_tails(release, noisy.denoised, estimate.location, estimate.kurtosis),
        unseen_rows=estimate.unseen_rows,
        flat=estimate.denoised.flat,
        unresolved=estimate.denoised.unresolved,
        saturated=_fills_norm(release, estimate.covariance, estimate.location),
        columns=release.columns,
        noisy=noisy,
        evened=evened,
        comparable=comparable,
        given_back_sd=estimate.given_back_sd,
    )


def _categories(release: Release) -> list[range]:
    """The columns of each category of three levels or more whose levels are always there, where means were released."""
    codebook = release.domain.codebook
    if codebook is None or release.augment is None:
        return []
    named = zip(codebook.kinds, codebook.places, strict=True)
    return [place for kind, place in named if isinstance(kind, Category) and len(place) > 1 and not kind.nullable]


def _estimate_one_round(release: Release) -> Estimate:
    """From one noisy second moment: denoised where its noise is the same in all directions."""
    centre, half = release.scaling
    scale = np.outer(half, half)
    p, sd = half.size, release.noise_scale
    trace_sd = refined_trace_sd(sd, p) if "trace" in release.answers[-1].values else sd * np.sqrt(p)
    result = denoise(
        release.second_moment / scale,
        sd,
        trace_sd=trace_sd,
        n_samples=release.n_kish,
        detection=PROTOCOL.shrinkage.detection,
    )
    counted = release.divisor_noise
    relative_sd = np.hypot(sd / np.diag(result.matrix), counted)
    # The square of a mean that is far from the middle of the bounds is divided by a noisy number too.
    mean = release.moment_center - centre
    noisy = NoisyCovariance(
        release.second_moment,
        ((np.diag(half), sd),),
        result.matrix * scale,
        1.0 / release.n_kish,
        (counted * np.outer(mean, mean)) ** 2 if counted else 0.0,
    )
    return Estimate(
        covariance=result.matrix * scale,
        location=_clamp_to_bounds(release, release.moment_center),
        n_eff=release.n_eff,
        location_sd=_location_sd(release, result.matrix * scale, 1.0 / release.n_kish, np.zeros(p)),
        location_shift=np.zeros(p),
        relative_sd=relative_sd,
        tail_sd=np.zeros(p),  # one round clips nothing but what is beyond the bounds
        fourth_moment=np.full(p, 3.0),
        undetermined=relative_sd > _UNDETERMINED,
        hidden_tails=np.zeros(p, dtype=bool),  # one round clips nothing but what is beyond the bounds
        unseen_rows=0.0,
        flat=result.flat,
        unresolved=result.unresolved,
        saturated=_fills_norm(release, result.matrix, (release.moment_center - centre) / half),
        columns=release.columns,
        noisy=noisy,
        evened=noisy,  # one round clips nothing but what is beyond the bounds
        comparable=noisy,
        given_back_sd=np.zeros(p),
    )


def _estimate_merged(release: MergedRelease) -> Estimate:
    """Average what the sites have before denoising, and denoise once: their noise averages out, a bias would not.

    Coordinates are those in which the summed noise is the same in all directions, exactly if every site's is.
    """
    weights, parts = release.weights, [_estimate_one(part) for part in release.parts]
    noisy = release.between_sites + sum(w * found.noisy.matrix for w, found in zip(weights, parts, strict=True))
    privacy = tuple((b, w * sd) for w, found in zip(weights, parts, strict=True) for b, sd in found.noisy.privacy)
    p, sd = len(noisy), float(np.sqrt(sum(size**2 for _, size in privacy)))
    back = np.linalg.cholesky(sum((size / sd) ** 2 * b @ b.T for b, size in privacy))
    there = np.linalg.solve(back, np.linalg.solve(back, noisy).T)
    once = any(part.event.rounds == "one" for part in release.parts)
    result = denoise(
        (there + there.T) / 2.0,
        sd,
        trace_sd=refined_trace_sd(sd, p),
        n_samples=release.n_samples if once else None,
        detection=PROTOCOL.shrinkage.detection if once else 0.0,
    )
    covariance = back @ result.matrix @ back.T
    covariance = (covariance + covariance.T) / 2.0
    centre, half = release.scaling
    sampling = float(sum(w**2 * found.noisy.sampling for w, found in zip(weights, parts, strict=True)))
    relative_sd = sd * (back**2).sum(axis=1) / np.diag(covariance)
    single = sum(w**2 * found.noisy.single for w, found in zip(weights, parts, strict=True))
    shift = np.sum([w * found.location_shift for w, found in zip(weights, parts, strict=True)], axis=0)
    per_row = float(np.sum(weights**2 / [part.n_samples for part in release.parts]))
    return Estimate(
        covariance=covariance,
        location=_clamp_to_bounds(release, release.moment_center),
        n_eff=release.n_eff,
        location_sd=_location_sd(release, covariance, per_row, shift),
        location_shift=shift,
        relative_sd=relative_sd,
        tail_sd=np.sum([w * found.tail_sd for w, found in zip(weights, parts, strict=True)], axis=0),
        fourth_moment=np.max([found.fourth_moment for found in parts], axis=0),
        undetermined=(relative_sd > _UNDETERMINED) | np.any([found.undetermined for found in parts], axis=0),
        hidden_tails=np.any([found.hidden_tails for found in parts], axis=0),
        unseen_rows=max(found.unseen_rows for found in parts),
        flat=result.flat,
        unresolved=result.unresolved,
        saturated=_fills_norm(release, covariance / np.outer(half, half), (release.moment_center - centre) / half),
        columns=release.columns,
        noisy=NoisyCovariance(noisy, privacy, covariance, sampling, single),
        evened=NoisyCovariance(
            release.between_sites + sum(w * found.evened.matrix for w, found in zip(weights, parts, strict=True)),
            tuple((b, w * sd) for w, found in zip(weights, parts, strict=True) for b, sd in found.evened.privacy),
            covariance,
            sampling,
            sum(w**2 * found.evened.single for w, found in zip(weights, parts, strict=True)),
        ),
        comparable=NoisyCovariance(
            release.between_sites + sum(w * found.comparable.matrix for w, found in zip(weights, parts, strict=True)),
            tuple((b, w * sd) for w, found in zip(weights, parts, strict=True) for b, sd in found.comparable.privacy),
            covariance,
            sampling,
            sum(w**2 * found.comparable.single for w, found in zip(weights, parts, strict=True)),
        ),
        given_back_sd=np.sum([w * found.given_back_sd for w, found in zip(weights, parts, strict=True)], axis=0),
    )


def _kurtosis(release: Release, estimate: Conclusion) -> float:
    """What sampling noise is multiplied by: by how much norms of rows vary more than those of Gaussian rows.

    Not less than 1 with categories: the squares of an indicator hardly vary, but its products with other columns do.
    """
    codebook = release.domain.codebook
    return max(estimate.kurtosis, 1.0) if codebook is not None and codebook.has_categories else estimate.kurtosis


def _location_sd(
    release: Release,
    covariance: NDArray[np.float64],
    sampling: NDArray[np.float64] | float,
    shift: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Of the mean, from noise, from sampling, whose variance is ``sampling`` times that of the rows, and clipping."""
    return np.sqrt(np.diag(release.location_noise) + sampling * np.diag(covariance) + shift**2)


def _hidden_tails(
    release: Release, covariance: NDArray[np.float64], location: NDArray[np.float64], kurtosis: float
) -> NDArray[np.bool_]:
    """Columns whose bounds reach too many standard deviations for what the release can see of their tails.

    ``location`` is the mean in scaled units: bounds are at ±1 there, or at the norm.
    """
    _, half = release.scaling
    end = 1.0 if release.domain.bounds is not None else release.domain.radius
    squares = (half * (end + np.abs(location))) ** 2 / np.diag(covariance)
    hidden_rows = release.event.rows_per_person / (release.divisor * release.event.mu)
    return find_hidden_tails(squares, hidden_rows, kurtosis)


def _fills_norm(release: Release, covariance: NDArray[np.float64], location: NDArray[np.float64]) -> bool:
    """Whether the mean squared norm, in scaled units, is most of what a norm bound allows."""
    if release.domain.data_norm is None:
        return False
    return bool(np.trace(covariance) + location @ location > _SATURATED * release.domain.radius**2)


def _clamp_to_bounds(release: Release, location: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of rows that were clamped to the bounds lies within them."""
    if release.domain.bounds is None:
        return location
    low, high = (np.asarray(end, dtype=np.float64) for end in release.domain.bounds)
    return np.asarray(np.clip(location, np.minimum(low, release.scaling[0]), np.maximum(high, release.scaling[0])))


def _is_same_query(asked: Query, recorded: Query) -> bool:
    """Whether a recorded question is the one that the protocol asks here; rounding may differ between machines."""
    if isinstance(asked, Moments) and isinstance(recorded, Moments):
        return math.isclose(asked.radius, recorded.radius, rel_tol=1e-6)
    sizes = [{name: values.size for name, values in query.arrays().items()} for query in (asked, recorded)]
    return type(asked) is type(recorded) and sizes[0] == sizes[1]


def _replay(release: Release) -> Conclusion:
    """Run the protocol on recorded answers."""
    if release.versions.get("recipe") != PROTOCOL.version:
        raise _another_protocol(release)
    domain, left = release.domain, list(release.answers)
    schedule = Schedule.recorded(domain, [answer.query for answer in left])
    inputs = ProtocolInputs.of(
        domain,
        release.augment,
        n_samples=release.divisor,
        mu=schedule.mu_left(release.event.mu),
        n_kish=None if domain.weight is None else release.n_kish,
    )
    remembered = recall(inputs, release.answers)
    if remembered is not None:
        return remembered

    def recorded(asked: QueryBatch) -> list[Answer]:
        found = [left.pop(0) for _ in asked[: len(left)]]
        if len(found) < len(asked) or not all(
            _is_same_query(q, r.query) for (q, _), r in zip(asked, found, strict=True)
        ):
            raise _another_protocol(release)
        return found

    try:
        run_protocol(schedule.ask(domain), recorded)
        estimate = run_protocol(adaptive_rounds(inputs), recorded)
        # Of answers that were drawn it is positive definite, by more than rounding can change.
        scale, p = np.sqrt(np.diag(estimate.covariance)), len(estimate.covariance)
        np.linalg.cholesky(estimate.covariance / np.outer(scale, scale) - 1e-13 * p * np.eye(p))
    except (np.linalg.LinAlgError, ArithmeticError):
        raise InvalidParameter("The answers in this release contradict each other: it was altered.") from None
    return estimate


def _another_protocol(release: Release) -> InvalidParameter:
    return InvalidParameter(
        "The answers of this release do not follow the protocol of this version of graphveil: another version made it "
        f"({release.versions.get('graphveil', 'unknown')}). Recover it with that version."
    )
