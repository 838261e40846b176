r"""Principal components of a release: variances and loadings with intervals, and how many stand out from noise.

Components are those of the correlation matrix R, as far as the release knows it before denoising. Its errors move an
eigenvalue λ_k by v_k'dR v_k, and its eigenvector by Σ_j v_j (v_j'dR v_k)/(λ_k − λ_j), to first order (j ≠ k). In units
in which all variances are 1, dR = Δ − (diag(Δ)R + R diag(Δ))/2, so that both have variances in closed form. To second
order eigenvalues repel each other, λ_k by Σ_j Var(v_j'dR v_k)/(λ_k − λ_j); this is corrected.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil import _validation
from graphveil._packages import import_package
from graphveil._random import generator_for
from graphveil._tables import Table, fixed
from graphveil._typing import Matrix, Vector
from graphveil.inference.error_law import UncertainMoments, moments_of
from graphveil.inference.uncertain import Uncertain, known
from graphveil.recovery.gap_noise import gap_noise_of_products
from graphveil.recovery.interval_width import half_width
from graphveil.recovery.network import RELIABLE, repair_diagonal
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.released.release import Release

__all__ = ["Components", "components"]

_DRAWS = 100  # of noise without structure: their 95th percentile is what a component must exceed
_APART = 0.25  # standard deviation of the angle by which noise turns a component: beyond it, intervals cover less
_SHOWN = 8  # components in a table


@dataclass(frozen=True, eq=False, repr=False)
class Components:
    """Principal components of the correlations, made by :func:`graphveil.components`.

    Attributes
    ----------
    columns : tuple of str
    variance : Uncertain
        Eigenvalues of the correlation matrix, largest first: variances of the components, p in total.
    loadings : (p, p) array
        Correlations of columns (rows) with components (columns).
    loadings_sd : (p, p) array
        Their standard errors; NaN for a component that noise does not separate from another.
    above_noise : int
        How many of the first components have a larger variance than uncorrelated columns would show with the same
        noise and sampling, 95 times out of 100 (parallel analysis).
    n_eff : float
    level : float
    notes : tuple of str
    guarantee : str
    """

    columns: tuple[str, ...]
    variance: Uncertain
    loadings: Matrix
    loadings_sd: Matrix
    above_noise: int
    n_eff: float
    level: float
    notes: tuple[str, ...]
    guarantee: str

    @property
    def explained(self) -> Vector:
        """Shares of the total variance."""
        return np.asarray(self.variance.value / len(self.columns))

    @property
    def lower(self) -> Matrix:
        """Lower ends of the intervals of the loadings."""
        return np.asarray(np.clip(self.loadings - self._half, -1.0, 1.0))

    @property
    def upper(self) -> Matrix:
        """Upper ends."""
        return np.asarray(np.clip(self.loadings + self._half, -1.0, 1.0))

    @property
    def _half(self) -> Matrix:
        return np.asarray(half_width(self.level) * self.loadings_sd)

    def to_frame(self) -> Any:
        """A data frame of the loadings with their intervals, a row for each column and component. Needs pandas."""
        pd = import_package("pandas", "to_frame")

        index = pd.MultiIndex.from_product([self.columns, range(1, len(self.columns) + 1)], names=["column", "PC"])
        numbers = {"loading": self.loadings, "std_err": self.loadings_sd, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({name: values.ravel() for name, values in numbers.items()}, index=index)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON types: ``terms`` are the columns with their loadings; None for what is not known."""
        named = [f"PC{k + 1}" for k in range(len(self.columns))]
        terms = []
        for i, column in enumerate(self.columns):
            row: dict[str, Any] = {"term": column}
            for k, name in enumerate(named):
                row |= {name: float(self.loadings[i, k]), f"{name}_std_err": known(float(self.loadings_sd[i, k]))}
            terms.append(row)
        return {
            "above_noise": self.above_noise,
            "n_eff": self.n_eff,
            "level": self.level,
            "variance": [float(value) for value in self.variance.value],
            "variance_std_err": [known(float(value)) for value in self.variance.std_err],
            "explained": [float(share) for share in self.explained],
            "terms": terms,
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }

    def summary(self) -> str:
        """Variances and loadings of the first components as text."""
        return self.table().to_text()

    def to_html(self) -> str:
        """The same as HTML."""
        return self.table().to_html()

    def to_latex(self) -> str:
        """The same as LaTeX, with the rules of the package booktabs."""
        return self.table().to_latex()

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.0%}" for share in self.explained[: max(self.above_noise, 1)][:5])
        return f"<Components of {len(self.columns)} columns: {self.above_noise} above noise; variance {shares}>"

    def table(self) -> Table:
        """The table behind the text, HTML and LaTeX output."""
        k = min(max(self.above_noise, 2), _SHOWN, len(self.columns))
        variance = self.variance[:k]
        rows = [
            ("variance", *(fixed(value, 3) for value in variance.value)),
            ("std err", *(fixed(value, 3) for value in variance.std_err)),
            ("explained", *(fixed(value, 3) for value in self.explained[:k])),
        ]
        for i, name in enumerate(self.columns):
            cells = [
                fixed(self.loadings[i, j], 2) + ("" if np.isnan(sd := self.loadings_sd[i, j]) else f" ±{sd:.2f}")
                for j in range(k)
            ]
            rows.append((name, *cells))
        facts = (
            ("Above noise", f"{self.above_noise} of {len(self.columns)} components"),
            ("Records", f"as good as {self.n_eff:,.0f} without noise"),
        )
        said = "Loadings are correlations of columns with components, ± their standard errors."
        header = ("", *(f"PC{j + 1}" for j in range(k)))
        return Table(
            "Principal components of a private release", facts, header, tuple(rows), (said, *self.notes, self.guarantee)
        )


def components(release: Release, *, level: float = 0.95) -> Components:
    """Principal components of the correlations of a release, with intervals: free.

    Parameters
    ----------
    release : Release
    level : float, default 0.95
        Level of the intervals, for each number separately.

    Returns
    -------
    Components

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 20_000, random_state=0)
    >>> out = gv.release(
    ...     rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(1.0, 1e-6), random_state=0
    ... )
    >>> gv.components(out).loadings.shape
    (5, 5)
    """
    level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    moments = moments_of(release)
    standard = _to_correlations(moments)
    values, vectors = _decompose(standard.noisy.matrix)
    p = len(values)
    errors = np.array([sum(_variances(standard, vectors.T, vectors[:, k], values[k])) for k in range(p)])
    gaps = values[:, None] - values
    np.fill_diagonal(errors, 0.0)
    np.fill_diagonal(gaps, 1.0)
    # They repel each other; where a gap is within noise, no more than first order allows.
    variance = values - np.sum(errors * gaps / (gaps**2 + errors), axis=1)
    turned = np.sqrt(np.sum(errors / (gaps**2 + 1e-300), axis=1))
    spreads = [_variances(standard, vectors[:, [k]].T, vectors[:, k], values[k]) for k in range(p)]
    sampling, privacy = (np.sqrt([part[side][0] for part in spreads]) for side in (0, 1))
    reliable = moments.n_eff >= RELIABLE * p
    apart = (turned < _APART) & reliable
    if not reliable:
        sampling, privacy = np.full((2, p), np.nan)
    loadings_sd = np.full((p, p), np.nan)
    for k in np.flatnonzero(apart & (values > 0.0)):
        loadings_sd[:, k] = _loadings_sd(standard, values, vectors, k)
    return Components(
        columns=moments.names,
        variance=Uncertain(variance, sampling, privacy, level),
        loadings=vectors * np.sqrt(np.maximum(values, 0.0)),
        loadings_sd=loadings_sd,
        above_noise=_count_above_noise(standard, values) if reliable else 0,
        n_eff=moments.n_eff,
        level=level,
        notes=_notes(apart, reliable=reliable),
        guarantee=release.guarantee,
    )


def _to_correlations(moments: UncertainMoments) -> UncertainMoments:
    """In units in which the released variances are 1."""
    own = repair_diagonal(moments.noisy.matrix, moments.noisy).diagonal()
    scaled = moments.scaled(1.0 / np.sqrt(own))
    np.fill_diagonal(scaled.noisy.matrix, 1.0)
    return scaled


def _decompose(matrix: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, largest first, and eigenvectors whose largest entry is positive."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.argmax(np.abs(vectors), axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


def _variances(moments: UncertainMoments, Q: Matrix, v: Vector, value: float) -> tuple[Vector, Vector]:
    """Variances of q'dR v for every row q of Q and an eigenvector v, from sampling and from privacy."""
    noisy, R = moments.noisy, moments.noisy.matrix
    # q'dR v = q'Δv − Σ_m h_m Δ_mm/2
    h = Q * (value * v) + (Q @ R) * v
    parts = [sum(size * _law(Q, v, h, gram) for gram, size in noisy.privacy_grams)]
    single = np.broadcast_to(noisy.single, R.shape)
    at = Q * v
    parts[0] = parts[0] + Q**2 @ (single @ v**2) + np.sum(at @ single * at, axis=1)
    sampling = _law(Q, v, h, noisy.denoised)
    if noisy.gaps is not None:
        sampling = sampling + np.diag(gap_noise_of_products(Q, v, noisy.gaps, noisy.denoised))
    return np.maximum(noisy.sampling * sampling, 0.0), np.maximum(parts[0], 0.0)


def _law(Q: Matrix, v: Vector, h: Matrix, gram: Matrix) -> Vector:
    """The same for errors of law (G, 1)."""
    moved, along = Q @ gram, gram @ v
    both = np.sum(moved * Q, axis=1) * float(v @ along) + (Q @ along) ** 2
    return np.asarray(both + np.sum(h @ gram**2 * h, axis=1) / 2.0 - 2.0 * np.sum(h * moved * along, axis=1))


def _loadings_sd(moments: UncertainMoments, values: Vector, vectors: Matrix, k: Any) -> Vector:
    """Standard errors of √λ_k v_k: q_i = √λ_k Σ_j v_ij v_j/(λ_k − λ_j) + v_ik v_k/(2√λ_k)."""
    gaps = values[k] - values
    gaps[k] = 2.0 * values[k]
    Q = np.sqrt(values[k]) * (vectors / gaps) @ vectors.T
    return np.asarray(np.sqrt(sum(_variances(moments, Q, vectors[:, k], values[k]))))


def _count_above_noise(moments: UncertainMoments, values: Vector) -> int:
    """How many of the first exceed those of uncorrelated columns with the same noise (Horn's parallel analysis)."""
    noisy, p = moments.noisy, len(values)
    plain = NoisyCovariance(np.eye(p), noisy.privacy, np.eye(p), noisy.sampling, noisy.single, noisy.gaps)
    generator = generator_for(moments.release.stream, "components")
    drawn = np.empty((_DRAWS, p))
    for draw in range(_DRAWS):
        found = repair_diagonal(np.eye(p) + plain.draw(generator), plain)
        scale = 1.0 / np.sqrt(found.diagonal())
        drawn[draw] = np.linalg.eigvalsh(found * np.outer(scale, scale))[::-1]
    below = np.flatnonzero(values <= np.quantile(drawn, 0.95, axis=0))
    return int(below[0]) if below.size else p


def _notes(apart: "np.ndarray[Any, np.dtype[np.bool_]]", *, reliable: bool) -> tuple[str, ...]:
    if not reliable:
        return (f"No intervals: the release has fewer than {RELIABLE:g} effective records for each column.",)
    if apart.all():
        return ()
    return ("Without a standard error, noise does not separate a component from another of about the same variance.",)
