"""The paper, reproduced: two tables, four figures, two theorems, one command each.

    python -m paper table1 | table2 | figure1 | figure2 | figure3 | figure4 | theorem1 | theorem2 | all

Each is made three times over:

* *as printed*: the paper's mechanism and settings, and what its tables turn out to contain (``ERRATA.md``);
* *corrected*: what its text says, rightly done;
* *graphveil*: the library's default at the same (ε, δ), private end to end.

Everything here is a simulation with seeded noise: it shows accuracy, it protects nobody.
"""
