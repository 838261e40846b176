"""What works on one release says how to get at one."""

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter

USES = {
    "recover": gv.recover,
    "regression": lambda given: gv.regression(given, "a"),
    "components": gv.components,
    "centrality": gv.centrality,
    "sample": lambda given: gv.sample(given, 10),
    "fit_release": lambda given: gv.PrivatePrecision(1.0, 1e-6).fit_release(given),
    "compare": lambda given: gv.compare(given, given),
}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.normal(size=3000), "arm": ["x", "y", "y"] * 1000})
    domain = gv.Domain({"a": (-5, 5), "b": (-5, 5)})
    return gv.release(table, domain=domain, budget=gv.Budget(1.0, 1e-6), by={"arm": ["x", "y"]}, random_state=0)


@pytest.mark.parametrize("use", USES)
def test_of_several_groups_one_must_be_chosen(groups, use):
    with pytest.raises(
        InvalidParameter, match=r"It holds one of each group: choose a group, such as (release|a)\['x'\]"
    ):
        USES[use](groups)


@pytest.mark.parametrize("use", USES)
def test_an_estimator_has_one_and_a_path_is_to_be_read(groups, use):
    model = gv.PrivatePrecision(1.0, 1e-6).fit_release(groups["x"])
    with pytest.raises(InvalidParameter, match="Give the release_ of this estimator"):
        USES[use](model)
    with pytest.raises(InvalidParameter, match=r"read one with gv\.Release\.load"):
        USES[use]("a.release")


def test_a_report_is_of_one_release_or_of_groups(groups, tmp_path):
    gv.write_report(groups, tmp_path / "groups.html")
    with pytest.raises(InvalidParameter, match="Give the release_ of this estimator"):
        gv.write_report(gv.PrivatePrecision(1.0, 1e-6).fit_release(groups["x"]), tmp_path / "model.html")
