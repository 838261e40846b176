"""From sensitive records to a published network in four steps: declare, release, save, estimate.

The records are simulated (50,000 people, six health measurements) so that the result can be compared with the truth.
"""

import tempfile
from pathlib import Path

import numpy as np

import graphveil as gv

COLUMNS = ["age", "bmi", "systolic", "glucose", "cholesterol", "pulse"]
CENTRE = np.array([48.0, 26.0, 125.0, 95.0, 200.0, 72.0])
SPREAD = np.array([14.0, 4.0, 15.0, 12.0, 35.0, 9.0])


def simulated_people(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in natural units, and the true partial correlations between the columns."""
    precision = gv.simulate.small_world_precision(len(COLUMNS), n_neighbours=2, random_state=12)
    rows = gv.simulate.gaussian_rows(precision, n, random_state=2026)
    return CENTRE + SPREAD * rows / rows.std(axis=0), gv.metrics.partial_correlations(precision)


def main() -> None:
    rows, truth = simulated_people(50_000)

    # 1. Declare what is public: what the columns can be (from common sense, never from the data) and the budget.
    domain = gv.Domain(columns=COLUMNS, bounds=([0, 10, 70, 40, 80, 30], [100, 50, 200, 180, 360, 120]))
    budget = gv.Budget(epsilon=1.0, delta=1e-6)

    # 2. Release. This is the only step that sees records and spends privacy budget.
    release = gv.release(rows, domain=domain, budget=budget)
    print(release.guarantee)

    # 3. Save the release. Everything from here on is free and can happen anywhere.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.release"
        release.save(path)
        release = gv.Release.load(path)
        print(f"Saved and read back {path.name}, {path.stat().st_size:,} bytes.")

    # 4. Estimate the network: which pairs are related, given all the other columns?
    estimate = gv.recover(release)
    print(f"{release.n_samples:,} noisy records are as good as {estimate.n_eff:,.0f} without noise.\n")
    print(f"{'column':<12}{'private mean':>14}{'true mean':>12}{'private sd':>13}{'true sd':>10}")
    spread = np.sqrt(np.diag(estimate.covariance))
    for name, row in zip(
        COLUMNS, zip(estimate.location, rows.mean(axis=0), spread, rows.std(axis=0), strict=True), strict=True
    ):
        print(f"{name:<12}{row[0]:>14.2f}{row[1]:>12.2f}{row[2]:>13.2f}{row[3]:>10.2f}")

    private = gv.metrics.partial_correlations(estimate.precision)
    print(f"\n{'pair':<26}{'private':>10}{'truth':>8}   partial correlation")
    for i, j in sorted(zip(*np.triu_indices(len(COLUMNS), 1), strict=True), key=lambda pair: -abs(private[pair])):
        bar = "#" * round(20 * abs(private[i, j]))
        print(f"{COLUMNS[i] + ' - ' + COLUMNS[j]:<26}{private[i, j]:>10.2f}{truth[i, j]:>8.2f}   {bar}")


if __name__ == "__main__":
    main()
