"""Fisher's z of partial correlations: the law of its errors is the derivative of z through the law of the precision."""

import numpy as np
import pytest

from graphveil.recovery.associations import PrecisionNoise
from graphveil.recovery.fisher_scores import FisherScores
from graphveil.recovery.noise_model import NoisyCovariance

P, STEP = 5, 1e-6
A, B = range(2), range(2, 5)


def made(single=0.0):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, P, P + 2))
    covariance = roots[0] @ roots[0].T
    noisy = NoisyCovariance(covariance, ((roots[1][:, :P], 0.1),), covariance, 0.01, single)
    precision = np.linalg.inv(covariance)
    return FisherScores(precision, PrecisionNoise(precision, noisy))


def test_covariances_are_those_of_the_derivative():
    scores = made()
    entries = [(i, j) for i in range(P) for j in range(i, P)]
    slopes = np.empty((len(A) * len(B), len(entries)))
    for k, (i, j) in enumerate(entries):
        moved = scores.corrected.copy()
        moved[i, j] = moved[j, i] = moved[i, j] + STEP
        slopes[:, k] = ((FisherScores(moved, scores.noise).z - scores.z) / STEP)[np.ix_(A, B)].ravel()
    law = sum(
        size * np.array([[G[i, k] * G[j, m] + G[i, m] * G[j, k] for k, m in entries] for i, j in entries])
        for G, size in scores.noise.grams
    )
    assert scores.block_covariance(A, B) == pytest.approx(slopes @ law @ slopes.T, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("single", [0.0, 0.3])
def test_standard_deviations_are_their_diagonal(single):
    scores = made(single)
    expected = scores.sd[np.ix_(A, B)].ravel()
    assert np.sqrt(np.diag(scores.block_covariance(A, B))) == pytest.approx(expected)
