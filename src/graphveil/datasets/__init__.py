"""Real data sets for experiments, each with public facts about it: names, bounds, a graph, a source.

- `ionosphere`: radar returns of two classes;
- `cell_signalling`: eleven molecules in 7,466 cells, with their consensus network;
- `health_insurance`: doctor visits and health of people over years, with bounds from the codebook.

The files come with the package and are read when a function is called; nothing is downloaded. Sources and licences are
in ``files/SOURCES.md`` next to this file, in short form in `Dataset.source` and `Dataset.licence`.

Examples
--------
The bounds come from a codebook, not from the rows, so they can go into a release as they are:

>>> import graphveil as gv
>>> data = gv.datasets.health_insurance()
>>> data.rows.shape
(20190, 10)
>>> gv.Domain(bounds=data.bounds).columns == data.columns
True
"""

from graphveil.datasets.bundled import cell_signalling, health_insurance, ionosphere
from graphveil.datasets.dataset import Dataset

__all__ = ["Dataset", "cell_signalling", "health_insurance", "ionosphere"]
