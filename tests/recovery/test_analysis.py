"""Networks and intervals are those of the release, wherever they are computed."""

import numpy as np
import pytest

import graphveil as gv


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_a_seed_gives_the_same_network_on_every_processor():
    """Processors differ in the last bit of computed bounds: were simulation seeded by that, penalties would differ."""
    rows = gv.simulate.gaussian_rows(gv.simulate.small_world_precision(8, 2, random_state=0), 2000, random_state=0)
    found = []
    for bound in (4.0, np.nextafter(4.0, 5.0)):
        model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-bound, bound), random_state=0).fit(rows)
        found.append((model.release_.checksum, model.alpha_, model.edge_intervals().lower))
    assert found[0][0] != found[1][0]
    for one, other in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
