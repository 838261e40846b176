"""Networks laid out: no line through a third disc, no name on another, the same picture every time."""

import numpy as np
import pytest

from graphveil._graph_layout import RADIUS, _size, lay_out, neighbourly_order

WORDS = [
    *(
        "age",
        "systolic pressure",
        "diastolic_pressure",
        "cost",
        "length of stay",
        "ward",
        "diagnosis_chapter",
        "smoker",
    ),
    *("HbA1c", "Charlson score", "readmitted within 30 days", "admission day", "sex", "body mass index", "income"),
]
SIZES = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 30, 40, 60, 100]


def network(p, seed):
    """A tree with hubs, a few edges more, and some variables that are joined to nothing."""
    rng = np.random.default_rng(seed)
    weights, joined = np.zeros((p, p)), max(2, p - rng.integers(0, 1 + p // 8))
    for k in range(1, joined):
        degree = (weights != 0).sum(axis=0)[:k] + 1.0
        j = rng.choice(k, p=degree / degree.sum()) if seed % 2 else rng.integers(max(0, k - 4), k)
        weights[k, j] = rng.uniform(0.05, 0.7) * rng.choice([-1, 1])
    for _ in range(p // 5):
        i, j = rng.choice(joined, 2, replace=False)
        weights[i, j] = rng.uniform(0.05, 0.4)
    return weights + weights.T * (weights == 0)


def names(p, seed):
    rng = np.random.default_rng(seed + 1)
    return [f"{rng.choice(WORDS)} {k}" for k in range(p)]


def faults(layout, weights):
    """How often a line comes within 4 pixels of a third disc; names on names, on discs, on lines; what is outside."""
    nodes, places = layout.nodes, layout.names
    half = np.array([_size(lines) for lines in layout.lines]) / 2.0
    p, through, on_lines = len(nodes), 0, 0
    for i, j in np.argwhere(np.triu(weights, 1)):
        points = layout.edge(int(i), int(j), 80)
        others = [k for k in range(p) if k not in (i, j)]
        if others:
            through += (np.linalg.norm(points[:, None] - nodes[others], axis=2).min(axis=0) < RADIUS + 4.0).sum()
        on_lines += (np.abs(points[:, None] - places) < half).all(axis=2).any(axis=0).sum()
    gap, room = np.abs(places[:, None] - places), half[:, None] + half
    on_names = (gap < room).all(axis=2)[np.triu_indices(p, 1)].sum()
    on_discs = (np.abs(places[:, None] - nodes) < half[:, None] + RADIUS).all(axis=2)[~np.eye(p, dtype=bool)].sum()
    box = np.array([layout.width, layout.height])
    outside = (places - half < -0.5).any() or (places + half > box + 0.5).any()
    apart = np.linalg.norm(nodes[:, None] - nodes, axis=2)[np.triu_indices(p, 1)].min()
    return {"through": through, "lines": on_lines, "names": on_names, "discs": on_discs, "outside": outside}, apart


@pytest.mark.parametrize(("p", "width"), [(p, 1036) for p in SIZES] + [(p, 356) for p in SIZES if p <= 24])
def test_lay_out_without_faults(p, width):
    """A narrow screen shows the wide picture of a larger network, so that it is not laid out for it."""
    weights = network(p, 100 + p)
    layout = lay_out(weights, names(p, p), width)
    found, apart = faults(layout, weights)
    on_lines = found.pop("lines")
    assert not any(found.values()), found
    assert on_lines <= p // 12
    assert apart > 3.0 * RADIUS


def test_lay_out_is_the_same_every_time():
    weights = network(13, 5)
    one, two = (lay_out(weights, names(13, 5), 900) for _ in range(2))
    np.testing.assert_array_equal(one.nodes, two.nodes)
    np.testing.assert_array_equal(one.names, two.names)
    assert one.bends == two.bends


def test_lay_out_depends_on_strength_and_not_on_sign():
    weights = network(9, 2)
    np.testing.assert_array_equal(
        lay_out(weights, names(9, 2), 900).nodes, lay_out(np.abs(weights), names(9, 2), 900).nodes
    )


def test_nodes_without_an_edge_stand_below_the_others():
    weights = np.zeros((40, 40))
    weights[0, 1] = weights[1, 0] = weights[1, 2] = weights[2, 1] = 0.4
    layout = lay_out(weights, names(40, 1), 356)
    assert layout.nodes[3:, 1].min() > layout.nodes[:3, 1].max() + 2.0 * RADIUS
    found, _ = faults(layout, weights)
    assert not any(found.values()), found


@pytest.mark.parametrize("p", [0, 1, 2])
def test_lay_out_of_hardly_anything(p):
    layout = lay_out(np.zeros((p, p)), ["x" * 300] * p, 356)
    assert layout.nodes.shape == (p, 2)
    assert all(len(line) <= 17 for lines in layout.lines for line in lines)


def test_edges_of_all_pairs_of_many_variables_are_laid_out():
    weights = np.abs(np.random.default_rng(1).normal(size=(30, 30))) + 0.1
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    layout = lay_out(weights, names(30, 1), 1036)
    found, apart = faults(layout, weights)
    assert found["names"] == 0
    assert apart > 3.0 * RADIUS


def test_the_path_of_a_curve_is_the_curve():
    weights = network(40, 40)
    layout = lay_out(weights, names(40, 40), 1036)
    for (i, j), bend in layout.bends.items():
        control, end = layout.path(i, j).split("Q")[1].split(" ")[:2], layout.nodes[j]
        middle = np.array(control, float) / 2.0 + (layout.nodes[i] + end) / 4.0
        np.testing.assert_allclose(layout.edge(i, j, 25)[12], middle, atol=0.1)
        assert bend != 0.0


def test_neighbourly_order_holds_everybody_once():
    strength = np.abs(network(12, 3))
    assert sorted(neighbourly_order(strength)) == list(range(12))
