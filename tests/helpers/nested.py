"""Tables with two categories whose levels nearly determine each other: psychiatric wards have diagnoses of chapter F.

``wards`` has these two alone, or beside numbers that have nothing to do with them; ``hospital`` has several visits of a
person, with skewed, missing and rare values; ``bank`` has two categories with rare levels. In all of them ``sex`` is
drawn at random, and in ``wards`` and ``bank`` nothing depends on it.
"""

import numpy as np
import pandas as pd

import graphveil as gv

__all__ = [
    "CHAPTERS",
    "SHARES",
    "WARDS",
    "bank",
    "bank_domain",
    "hospital",
    "hospital_domain",
    "ward_covariance",
    "ward_shares",
    "wards",
    "wards_domain",
]

SEXES = ["F", "M"]
WARDS = ["surgery", "medicine", "cardiology", "oncology", "geriatrics", "psychiatry"]
CHAPTERS = list("ICJKNEFGMSOZ")
_OF_WARDS = [0.28, 0.21, 0.20, 0.13, 0.10, 0.08]
_OF_CHAPTERS = [  # of each ward, up to a factor
    [0.5, 2, 0.5, 4, 1.5, 0.3, 0.1, 0.3, 4, 5, 1, 0.7],
    [3, 1, 3, 3, 2, 3, 0.5, 1, 1, 0.5, 0.1, 1],
    [12, 0.2, 0.5, 0.2, 0.3, 0.5, 0.1, 0.2, 0.1, 0.2, 0.05, 0.7],
    [0.3, 14, 0.3, 0.5, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.5],
    [4, 1, 3, 1.5, 2, 1.5, 2, 2, 2, 3, 0.01, 1],
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 14, 1, 0.1, 0.3, 0.1, 0.7],
]


def ward_shares(of_wards=_OF_WARDS):
    """Joint shares of wards and chapters."""
    given = np.array(_OF_CHAPTERS)
    return given / given.sum(axis=1, keepdims=True) * np.array(of_wards)[:, None]


SHARES = ward_shares()


def ward_covariance(shares=SHARES, numbers=0):
    """Of the indicators of all levels but the first, and of independent numbers."""
    first, second = (
        np.eye(k)[places.ravel(), 1:] for k, places in zip(shares.shape, np.indices(shares.shape), strict=True)
    )
    cells = np.c_[first, second]
    away = cells - shares.ravel() @ cells
    found = np.eye(cells.shape[1] + numbers)
    found[: cells.shape[1], : cells.shape[1]] = away.T @ (away * shares.ravel()[:, None])
    return found


def wards(n, seed, numbers=0, shares=SHARES):
    """Ward and chapter of n patients, and some standard normal numbers; a patient may be of either sex."""
    rng = np.random.default_rng(seed)
    ward, chapter = np.divmod(rng.choice(shares.size, n, p=shares.ravel()), shares.shape[1])
    table = {"sex": rng.choice(SEXES, n), "ward": np.array(WARDS)[ward], "chapter": np.array(CHAPTERS)[chapter]}
    return pd.DataFrame(table | {f"x{k}": rng.standard_normal(n) for k in range(numbers)})


def wards_domain(numbers=0, **more):
    """Of :func:`wards` without the sex, unless ``more`` declares it."""
    kinds = {"ward": gv.Category(WARDS), "chapter": gv.Category(CHAPTERS)}
    return gv.Domain(more | kinds | {f"x{k}": (-5, 5) for k in range(numbers)})


def hospital(people, seed, visits=4.3):
    """Visits of people, about 4.3 each."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(SEXES, people, p=[0.52, 0.48]), np.clip(rng.normal(61, 19, people), 18, 98)
    smokes = rng.random(people) < np.where(sex == "M", 0.27, 0.19)
    frail, sugar, pressure = rng.standard_normal((3, people))
    often = np.exp(0.35 * frail + 0.006 * (age - 61))
    who = np.repeat(np.arange(people), 1 + rng.poisson((visits - 1) * often / often.mean()))
    n, sex, frail, smokes = who.size, sex[who], frail[who], smokes[who].astype(float)
    older = np.clip(age[who] + rng.random(n), 18, 99) - 61

    def is_in(name):
        return (ward == WARDS.index(name)).astype(float)

    odds = np.array([0.2, 0.0, -0.3, -0.6, -1.5, -1.2]) + np.outer(older, [-0.02, 0, 0.02, 0.01, 0.07, -0.03])
    odds += np.outer(smokes, [0, 0, 0.5, 0.4, 0, 0])
    ward = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    given = np.log(_OF_CHAPTERS)[ward]
    chapter = (given + rng.gumbel(size=given.shape)).argmax(axis=1)
    charlson = np.minimum(rng.poisson(np.exp(0.3 + 0.018 * older + 0.45 * frail + 0.25 * smokes)), 15)
    hba1c = 5.4 + 0.008 * older + 0.45 * sugar[who] + 0.12 * charlson + 0.25 * rng.standard_normal(n)
    hba1c = np.clip(hba1c + 0.6 * (rng.random(n) < 0.12) * rng.exponential(2, n), 3.5, 18)
    systolic = 131 + 0.38 * older + 9 * pressure[who] + 2.5 * smokes + 1.5 * (sex == "M") + 10 * rng.standard_normal(n)
    diastolic = 80 + 0.42 * (systolic - 131) - 0.25 * older + 7 * rng.standard_normal(n)
    days = 1.15 + 0.1 * charlson + 0.012 * older + 0.9 * is_in("psychiatry") + 0.35 * is_in("geriatrics")
    days = np.exp(days + 0.75 * rng.standard_normal(n))
    same_day = rng.random(n) < 0.34 - 0.02 * np.minimum(charlson, 6) - 0.1 * is_in("psychiatry")
    days = np.minimum(np.where(same_day, 0.0, np.ceil(days)), 365.0)
    cost = 6.6 + 0.62 * np.log1p(days) + 0.09 * charlson + 0.55 * is_in("surgery") + 0.7 * is_in("oncology")
    cost = np.exp(cost + 0.25 * is_in("cardiology") + 0.55 * rng.standard_normal(n))
    again = -3.5 + 0.22 * charlson + 0.012 * older + 0.35 * smokes + 0.25 * np.log1p(days)
    return pd.DataFrame(
        {
            "patient": who,
            "sex": sex,
            "ward": np.array(WARDS)[ward],
            "age": older + 61,
            "admission": rng.integers(0, 730, n).astype(float),
            "days": days,
            "hba1c": np.where(rng.random(n) < 1 / 3, np.nan, hba1c.round(1)),
            "systolic": systolic.round(),
            "diastolic": diastolic.round(),
            "smokes": smokes,
            "charlson": charlson.astype(float),
            "cost": cost,
            "again": (rng.random(n) < 1 / (1 + np.exp(-again))).astype(float),
            "chapter": np.array(CHAPTERS)[chapter],
        }
    )


def hospital_domain():
    """Of :func:`hospital`, with bounds as somebody writes them who has not seen it."""
    kinds = {
        "sex": gv.Category(SEXES),
        "ward": gv.Category(WARDS),
        "age": (18, 110),
        "admission": (0, 731),
        "days": (0, 365),
        "hba1c": gv.Number(3, 20, missing=True),
        "systolic": (60, 250),
        "diastolic": (30, 150),
        "smokes": (0, 1),
        "charlson": (0, 24),
        "cost": gv.Number(10, 1e6, scale="log"),
        "again": (0, 1),
        "chapter": gv.Category(CHAPTERS),
    }
    return gv.Domain(kinds, person="patient")


REGIONS, PRODUCTS = list("ABCDEFGH"), ["basic", "student", "gold", "business", "trust"]


def bank(n, seed):
    """Customers: income has a long tail, a product is hardly sold in most regions, and one has 0.5% of the rows."""
    rng = np.random.default_rng(seed)
    region = rng.choice(8, n, p=[0.3, 0.2, 0.15, 0.12, 0.1, 0.07, 0.04, 0.02])
    odds = np.tile(np.log([0.6, 0.2, 0.13, 0.01, 0.005]), (n, 1))
    odds[region == 6, 3] += 7.0  # region G is an industrial estate
    product = (odds + rng.gumbel(size=(n, 5))).argmax(axis=1)
    age = np.clip(np.where(product == 1, 22, 45) + np.where(product == 1, 2, 14) * rng.standard_normal(n), 18, 99)
    income = np.exp(7.6 + 0.01 * (age - 45) + 0.5 * (product == 2) + 0.6 * rng.standard_normal(n))
    balance = np.where(rng.random(n) < 0.3, 0.0, np.exp(0.9 * np.log(income) + 1.1 * rng.standard_normal(n)))
    late = rng.random(n) < 1 / (1 + np.exp(3.2 + 0.5 * np.log(income / 2000) + 0.8 * (product == 3)))
    return pd.DataFrame(
        {
            "sex": rng.choice(SEXES, n),
            "region": np.array(REGIONS)[region],
            "product": np.array(PRODUCTS)[product],
            "age": age,
            "income": np.minimum(income, 50_000.0),
            "balance": np.minimum(balance, 200_000.0),
            "visits": rng.poisson(np.exp(1.0 - 0.02 * (age - 45))).astype(float),
            "late": late.astype(float),
        }
    )


def bank_domain():
    """Of :func:`bank`."""
    kinds = {
        "sex": gv.Category(SEXES),
        "region": gv.Category(REGIONS),
        "product": gv.Category(PRODUCTS),
        "age": (18, 110),
        "income": gv.Number(100, 50_000, scale="log"),
        "balance": (0, 200_000),
        "visits": (0, 60),
        "late": (0, 1),
    }
    return gv.Domain(kinds)
