"""Theorem 12, second part: groups of disjoint people are charged once, and one record concerns one group."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.engines import open_rows
from graphveil.engines.dask import DaskPartitions
from graphveil.exceptions import BudgetExceeded, GuaranteeError, InvalidParameter, SourceError
from graphveil.ledger.account import Account, GroupAccount
from graphveil.report.page import report_html
from graphveil.report.privacy_card import privacy_card
from graphveil.rows.group_rows import GroupRows, number_groups
from graphveil.rows.groups import split_groups
from graphveil.rows.sources import open_source
from graphveil.spec.grouping import GroupedEvent, GroupEvent, Grouping
from graphveil.spec.options import ReleaseOptions

DOMAIN, BUDGET = gv.Domain(bounds={"x": (-5, 5), "y": (-5, 5)}), gv.Budget(1.0, 1e-6)
BY = {"arm": ["A", "B"]}
ASK = {"domain": DOMAIN, "budget": BUDGET, "by": BY}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    arms = rng.choice(["A", "B", "", "a"], 4000, p=[0.5, 0.3, 0.1, 0.1])
    return pd.DataFrame({"x": rng.normal(size=4000), "y": rng.normal(size=4000), "arm": arms})


class Recorder:
    """A ledger that remembers charges, and what had been read by then."""

    def __init__(self):
        self.events = []

    def charge(self, dataset, event, request=None):
        self.events.append(event)


def rows_of(table, code):
    source = open_source(table, Grouping.of(BY).as_column_of(DOMAIN), None)
    return np.concatenate([rows for rows, _ in GroupRows(source, 2, float(code)).read()])


def test_a_record_concerns_its_own_group_alone(table):
    neighbour = table.copy()
    place = int(np.flatnonzero(table["arm"] == "A")[17])
    neighbour.loc[place, ["x", "y"]] = [5.0, -5.0]
    assert np.array_equal(rows_of(table, 1), rows_of(neighbour, 1))
    moved = np.any(rows_of(table, 0) != rows_of(neighbour, 0), axis=1)
    assert moved.sum() == 1
    expected = table.loc[table["arm"] == "B", ["x", "y"]].to_numpy()
    assert np.array_equal(rows_of(table, 1), expected)


def test_records_of_other_levels_have_no_part(table):
    """Not one bit depends on them, nor on their number."""
    known = table[table["arm"].isin(["A", "B"])]
    strangers = table.copy()
    strangers.loc[~table["arm"].isin(["A", "B"]), ["x", "y"]] = 4.0
    made = gv.release(table, **ASK, random_state=1)
    assert gv.release(known, **ASK, random_state=1) == made
    assert gv.release(strangers, **ASK, random_state=1) == made


@pytest.mark.parametrize("adaptive", [True, False])
def test_all_groups_are_charged_once_what_one_of_them_costs(table, adaptive):
    ledger = Recorder()
    made = gv.release(table, **ASK, adaptive=adaptive, ledger=ledger, dataset="d")
    (event,) = ledger.events
    assert event == made.event
    assert event.counts == tuple(int((table["arm"] == level).sum()) for level in BY["arm"])
    assert event.keeps_budget
    for level, part in made.items():
        assert isinstance(part.event, GroupEvent)
        assert part.event.group == ("arm", level)
        assert part.event.mu <= event.mu
        assert part.event.eta <= event.eta
        assert part.event.covers(answer.step for answer in part.answers)
        assert part.n_samples == (table["arm"] == level).sum()


def test_a_real_ledger_counts_the_groups_as_one_release(table, tmp_path):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("one", gv.Budget(1.0, 1e-6))
    made = gv.release(table, **ASK, ledger=ledger, dataset="one", key="k")
    assert len(ledger.history("one")) == 1
    assert ledger.spent("one").epsilon <= 1.0
    again = gv.release(table, **ASK, ledger=ledger, dataset="one", key="k")
    assert again == made
    assert ledger.verify()
    with pytest.raises(BudgetExceeded):
        gv.release(table, **ASK, ledger=ledger, dataset="one")
    with pytest.raises(gv.exceptions.KeyRefused, match="another by"):
        gv.release(table, **(ASK | {"by": {"arm": ["A", "b"]}}), ledger=ledger, dataset="one", key="k")
    with pytest.raises(gv.exceptions.KeyRefused, match="another by"):
        gv.release(table, domain=DOMAIN, budget=BUDGET, ledger=ledger, dataset="one", key="k")
    assert "in groups" in str(ledger.history("one"))


def test_nothing_is_drawn_where_nothing_was_charged(table, monkeypatch):
    drawn = []
    from graphveil.privacy import mechanisms

    real = mechanisms.draw_noise
    monkeypatch.setattr(mechanisms, "draw_noise", lambda *args: drawn.append(1) or real(*args))

    class Refusing(Recorder):
        def charge(self, dataset, event, request=None):
            assert not drawn
            raise BudgetExceeded("no")

    with pytest.raises(BudgetExceeded):
        gv.release(table, **ASK, ledger=Refusing(), dataset="d")
    with pytest.raises(SourceError, match="no record with arm = C"):
        gv.release(table, **(ASK | {"by": {"arm": ["A", "C"]}}), ledger=Recorder(), dataset="d")
    assert drawn == []
    gv.release(table, **ASK)
    assert drawn, "the net is not empty"


def test_a_group_that_costs_more_is_refused():
    options = ReleaseOptions(DOMAIN, BUDGET, by=Grouping.of(BY))
    account = Account(Recorder(), "d", None, options)
    first, second = account.open_groups([1000, 1000], 1)
    facts = ("default", "adaptive", 1000, 1, "replace")
    own = gv.ReleaseEvent(BUDGET, first.whole.mu, first.whole.eta, *facts, seeded=False)
    first.charge(own)
    for wrong in ({"mu": 1.001 * own.mu}, {"eta": 1.001 * own.eta}, {"seeded": True}):
        with pytest.raises(GuaranteeError, match="cost more than all were charged"):
            second.charge(gv.ReleaseEvent(**(vars(own) | wrong)))
    with pytest.raises(GuaranteeError, match="Nothing was charged"):
        second.check_covers([])


def test_a_failure_after_the_charge_says_what_it_cost(table):
    class Vanishing:
        """Batches that are gone once the ledger was charged."""

        def __iter__(self):
            if ledger.events:
                raise OSError
            yield table

    ledger = Recorder()
    with pytest.raises(SourceError, match="had already been charged and stays charged"):
        gv.release(Vanishing(), **ASK, ledger=ledger, dataset="d")
    assert len(ledger.events) == 1


def test_the_sentence_says_that_membership_is_public(table):
    made = gv.release(table, **ASK)
    counts = [int((table["arm"] == level).sum()) for level in BY["arm"]]
    assert "by another one of the same group" in made.guarantee
    assert f"{counts[0]} with arm = A, {counts[1]} with arm = B" in made.guarantee
    for level, part in made.items():
        assert f"who belongs to this group (arm = {level}) is public" in part.guarantee
        from graphveil.report.privacy_card import privacy_card

        card = dict(privacy_card(part).facts)
        assert f"Who belongs to the group arm = {level} is not hidden" in card["What is not guaranteed"]
        assert f"who belongs to the group arm = {level}" in card["Public facts"]
        assert "of the same group" in card["Against what"]


def test_merged_groups_say_that_membership_is_public(table):
    from graphveil.report.privacy_card import privacy_card

    merged = gv.merge_releases([*gv.release(table, **ASK).values()])
    assert "replacing one record by another one of the same group at one of 2 sites" in merged.guarantee
    assert "and who belongs to arm = A, arm = B, are public" in merged.guarantee
    card = dict(privacy_card(merged).facts)
    assert "Who belongs to the group arm = A or arm = B is not hidden" in card["What is not guaranteed"]
    assert "who belongs to the group arm = A or arm = B" in card["Public facts"]
    assert "of the same group" in card["Against what"]


def test_several_rows_a_person_need_to_say_whose_they_are(table):
    several = gv.Domain(bounds={"x": (-5, 5), "y": (-5, 5)}, rows_per_person=3)
    with pytest.raises(InvalidParameter, match="name the person column"):
        gv.release(table, **(ASK | {"domain": several}))


@pytest.mark.parametrize(
    ("by", "match"),
    [
        ("arm", "a gv.Category of the domain"),
        (["arm"], "a mapping of one column"),
        ({"arm": ["A"]}, "at least two distinct levels"),
        ({"arm": ["1", 1]}, "all of them text or all of them numbers"),
        ({"arm": [1, 1.0]}, "distinct"),
        ({"arm": ["A", "A"]}, "distinct"),
        ({"arm": ["A", "B"], "sex": ["F"]}, "a mapping of one column"),
        ({"x": [1, 2]}, "not among the columns to release"),
    ],
)
def test_groups_are_declared(table, by, match):
    with pytest.raises(InvalidParameter, match=match):
        gv.release(table, **(ASK | {"by": by}))


def test_groups_by_a_category_of_the_codebook(table):
    """Its levels are declared there; the category itself is not among what is released of a group."""
    domain = gv.Domain(columns={"x": (-5, 5), "y": (-5, 5), "arm": gv.Category(["A", "B"])})
    made = gv.release(table, domain=domain, budget=BUDGET, by="arm", random_state=1)
    assert made["A"].columns == ("x", "y")
    assert made.event.grouping == Grouping.of(BY)
    plain = gv.release(table, **ASK, random_state=1)
    assert np.array_equal(made["B"].second_moment, plain["B"].second_moment)
    with pytest.raises(InvalidParameter, match="not among the columns to release"):
        gv.release(table, domain=domain, budget=BUDGET, by=BY)


def test_levels_come_beside_an_array(table):
    rows, arms = table[["x", "y"]].to_numpy(), table["arm"].to_numpy()
    one = gv.release((rows, arms), **ASK, random_state=1)
    two = gv.release(table, **ASK, random_state=1)
    for level in BY["arm"]:
        assert np.array_equal(one[level].second_moment, two[level].second_moment)


def test_files_and_reused_batches_give_the_same_groups(table, tmp_path):
    made = gv.release(table, **ASK, random_state=1)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        assert gv.release(tmp_path / name, **ASK, random_state=1) == made
    chunks = [table.iloc[start : start + 700] for start in range(0, len(table), 700)]
    assert gv.release(chunks, **ASK, random_state=1) == made


def test_a_file_of_groups_is_read_back_and_a_forged_one_refused(table, tmp_path):
    made = gv.release(table, **ASK, random_state=1)
    made.save(tmp_path / "groups.release")
    assert gv.GroupedRelease.load(tmp_path / "groups.release") == made
    with pytest.raises(gv.exceptions.ReleaseFileError, match="several groups"):
        gv.Release.load(tmp_path / "groups.release")
    made["A"].save(tmp_path / "a.release")
    assert gv.Release.load(tmp_path / "a.release") == made["A"]
    with pytest.raises(gv.exceptions.ReleaseFileError, match="one group"):
        gv.GroupedRelease.load(tmp_path / "a.release")
    with pytest.raises(InvalidParameter, match="those that were charged"):
        gv.GroupedRelease(made.event, made.parts[::-1])
    cheaper = GroupedEvent(**(vars(made.event) | {"mu": made.event.mu / 2}))
    with pytest.raises(InvalidParameter, match="not cost more"):
        gv.GroupedRelease(cheaper, made.parts)
    for other in (
        {"rows_per_person": 2},
        {"by_person": True},
        {"mechanism": "paper"},
        {"budget": gv.Budget(0.1, 1e-6)},
    ):
        with pytest.raises(InvalidParameter, match="released as all of them were charged"):
            gv.GroupedRelease(GroupedEvent(**(vars(made.event) | other)), made.parts)


def test_the_file_of_a_group_is_read_by_a_process_that_knows_nothing_of_groups_yet(table, tmp_path):
    gv.release(table, **ASK, random_state=1)["A"].save(tmp_path / "a.release")
    read = "import sys, graphveil as gv; print(gv.Release.load(sys.argv[1]).event.group)"
    said = subprocess.run([sys.executable, "-c", read, tmp_path / "a.release"], capture_output=True, text=True)
    assert said.stdout.strip() == "('arm', 'A')", said.stderr


def test_groups_are_compared_by_their_names(table):
    made = gv.release(table, **ASK, random_state=1)
    assert gv.compare(made["A"], made["B"]).names == ("A", "B")


def test_a_group_account_is_part_of_one_account():
    options = ReleaseOptions(DOMAIN, BUDGET, by=Grouping.of(BY))
    shares = Account(None, None, None, options).open_groups([5, 6], 1)
    assert all(isinstance(share, GroupAccount) for share in shares)
    assert shares[0].whole is shares[1].whole
    assert shares[0].whole.n_samples == 11


# ------------------------------------------------------------------ people with rows in several groups
PEOPLE = gv.Domain(bounds={"x": (-5, 5), "y": (-5, 5)}, person="id")
YEARS, SEXES = {"year": [2020, 2021, 2022]}, {"sex": ["F", "M"]}


@pytest.fixture(scope="module")
def visits():
    """Of 600 people, in any of three years; everybody has one sex."""
    rng = np.random.default_rng(3)
    who = rng.integers(0, 600, 2400)
    return pd.DataFrame(
        {
            "x": rng.normal(size=2400),
            "y": rng.normal(who % 2, 1.0),
            "id": [f"p{k}" for k in who],
            "year": rng.choice([2019, 2020, 2021, 2022], 2400),
            "sex": np.where(who % 2, "F", "M"),
        }
    )


def ask_people(visits, by, seed=5, **options):
    asked = {"domain": PEOPLE, "budget": BUDGET, "adaptive": False, "random_state": seed} | options
    return gv.release(visits, by=by, **asked)


@pytest.mark.parametrize(("by", "several"), [(YEARS, 3), (SEXES, 1)])
def test_a_person_in_several_groups_costs_the_whole_at_most(visits, by, several):
    """k groups with μ/√k each; k is that of whoever is in the most groups."""
    ledger = Recorder()
    made = ask_people(visits, by, seed=None, adaptive=True, ledger=ledger, dataset="d")
    (event,) = ledger.events
    assert event.groups_per_person == several
    assert event.by_person
    assert event.keeps_budget
    ((column, levels),) = by.items()
    assert event.counts == tuple(visits[visits[column] == level]["id"].nunique() for level in levels)
    for part in made.values():
        steps = [answer.step for answer in part.answers]
        assert several * sum(Fraction(step.mu) ** 2 for step in steps) <= Fraction(event.mu) ** 2
        assert several * sum(Fraction(step.eta) for step in steps) < Fraction(event.eta)
        assert part.event.mu == pytest.approx(event.mu / np.sqrt(several))
        assert part.event.groups_per_person == several
        assert "by another one who is in the same groups" in part.guarantee


def test_all_rows_of_a_person_move_their_own_groups_alone(visits):
    """Somebody with more rows, and others, in the same groups: not one bit of other groups changes."""
    groups = visits[visits["year"] > 2019].groupby("id")["year"].agg(set)
    someone = next(person for person, years in groups.items() if years == {2020, 2021})
    other = pd.DataFrame(
        {"x": [5.0] * 9, "y": [-5.0] * 9, "id": "somebody new", "year": [2020] * 8 + [2021], "sex": "F"}
    )
    neighbour = pd.concat([visits[visits["id"] != someone], other], ignore_index=True)
    one, two = ask_people(visits, YEARS), ask_people(neighbour, YEARS)
    assert one.event == two.event, "whatever is public is the same"
    assert np.array_equal(one[2022].second_moment, two[2022].second_moment)
    for year in (2020, 2021):  # a row of length √2 in units of the bounds, beside a constant
        moved = (one[year].second_moment - two[year].second_moment) * one[year].n_samples / 25.0
        assert 0.0 < np.linalg.norm(moved) <= np.sqrt(2.0) * 3.0


def test_a_person_counts_once_in_each_of_their_groups(visits):
    """Not by how many rows they have there: the mean is that of people's own means."""
    made = ask_people(visits, YEARS, adaptive=True, budget=gv.Budget(20.0, 1e-6))
    for year, part in made.items():
        rows = visits[visits["year"] == year]
        expected = rows.groupby("id")[["x", "y"]].mean().mean()
        assert np.abs(gv.recover(part).location - expected).max() < 0.05


def test_people_and_groups_are_read_alike_everywhere(visits, tmp_path):
    """The level is a column, or comes beside an array; so do ids: the same bits in every case."""
    visits.to_csv(tmp_path / "v.csv", index=False)
    visits.to_parquet(tmp_path / "v.parquet")
    array = visits[["x", "y"]].to_numpy()
    plain = gv.Domain(bounds={"x": (-5, 5), "y": (-5, 5)})
    book = gv.Domain({"x": (-5, 5), "y": (-5, 5), "sex": gv.Category(["F", "M"])}, person="id")
    for by in (YEARS, SEXES):
        (column,) = by
        made = ask_people(visits, by)
        for source, options in (
            (tmp_path / "v.csv", {}),
            (tmp_path / "v.parquet", {}),
            ([visits[:1000], visits[1000:]], {}),
            (visits.drop(columns="id"), {"domain": plain, "person": visits["id"]}),
            ((array, visits[column].to_numpy()), {"domain": plain, "person": visits["id"].to_numpy(dtype=object)}),
        ):
            again = ask_people(source, by, **options)
            for level, part in again.items():
                assert np.array_equal(part.second_moment, made[level].second_moment)
    declared = ask_people(visits, "sex", domain=book)
    assert np.array_equal(declared["M"].second_moment, made["M"].second_moment)


def test_dependent_groups_are_compared_and_merged_as_that(visits):
    made = ask_people(visits, YEARS, adaptive=True, budget=gv.Budget(8.0, 1e-6))
    with pytest.raises(InvalidParameter, match="overlap=True"):
        gv.compare(made[2020], made[2021])
    assert gv.compare(made[2020], made[2021], overlap=True).overlap
    with pytest.raises(InvalidParameter, match="sites_per_person must be at least 3"):
        gv.merge_releases([*made.values()])
    merged = gv.merge_releases([*made.values()], sites_per_person=3)
    assert merged.merged_event.mu <= made.event.mu


def test_a_group_beyond_its_share_is_refused(visits, tmp_path):
    made = ask_people(visits, YEARS)
    with pytest.raises(InvalidParameter, match="must not cost more"):
        replace(made, event=replace(made.event, mu=made.event.mu * 0.999))
    with pytest.raises(InvalidParameter, match="must not cost more"):
        replace(made, event=replace(made.event, groups_per_person=2))
    made.save(tmp_path / "years.release")
    assert gv.GroupedRelease.load(tmp_path / "years.release") == made


@pytest.mark.parametrize("levels", [["A", "B"], [1, 2]])
def test_levels_that_no_row_has_are_nobodys(visits, levels):
    with pytest.raises(SourceError, match="There is no record with"):
        ask_people(visits.assign(arm="C" if levels[0] == "A" else 3), {"arm": levels})


def test_columns_are_named_by_the_source_or_the_domain(visits, tmp_path):
    """All columns of a frame or a typed file but the level and the id; batches, and CSV files, do not say for sure."""
    unnamed, named = gv.Domain(bounds=(-5, 5), person="id"), visits.drop(columns="sex")
    made = ask_people(visits, YEARS)
    named.to_parquet(tmp_path / "v.parquet")
    named.to_csv(tmp_path / "v.csv", index=False)
    for source in (named, tmp_path / "v.parquet", [tmp_path / "v.parquet"]):
        again = ask_people(source, YEARS, domain=unnamed)
        assert again[2021].columns == ("x", "y")
        assert np.array_equal(again[2021].second_moment, made[2021].second_moment)
    for source in (tmp_path / "v.csv", [named]):
        with pytest.raises(InvalidParameter, match="by needs the names of the columns"):
            ask_people(source, YEARS, domain=unnamed)
    with pytest.raises(SourceError, match="with by, give a pair"):
        ask_people(visits[["x", "y", "year"]].to_numpy(), YEARS, domain=DOMAIN, person=visits["id"])
    with pytest.raises(SourceError, match="must be the number of rows"):
        ask_people((visits[["x", "y"]].to_numpy(), [2020] * 5), YEARS, domain=DOMAIN, person=visits["id"])


@pytest.mark.parametrize("domain", [DOMAIN, PEOPLE], ids=["rows", "people"])
def test_levels_have_one_rule_with_people_and_without(visits, tmp_path, domain):
    """That of gv.Category: numbers by value, however they are written or typed; text as it is."""
    visits = visits.drop(columns=["year", "sex"]).assign(arm=visits["year"] - 2020)
    by = {"arm": [1, 2]}
    made = ask_people(visits, by, domain=domain)
    assert made.event.counts == tuple(
        visits[visits["arm"] == level]["id"].nunique() if domain.person else int((visits["arm"] == level).sum())
        for level in by["arm"]
    )
    floats = visits.assign(arm=visits["arm"].where(visits["arm"] > 0, np.nan))
    floats.to_parquet(tmp_path / "floats.parquet")
    spelt = visits["arm"].map({-1: "-1", 0: "", 1: "01", 2: "2.0"})
    visits.assign(arm=spelt).to_csv(tmp_path / "spelt.csv", index=False)
    ids = {} if domain.person is None else {"person": visits["id"]}
    pair = (visits[["x", "y"]].to_numpy(), floats["arm"].to_numpy())
    for source, options in (
        (floats, {}),
        (tmp_path / "floats.parquet", {}),
        (tmp_path / "spelt.csv", {}),
        (pair, {"domain": DOMAIN} | ids),
    ):
        for levels in ([1, 2], [1.0, 2.0]):
            again = ask_people(source, {"arm": levels}, **({"domain": domain} | options))
            for level in by["arm"]:
                assert np.array_equal(again[level].second_moment, made[level].second_moment)
    with pytest.raises(SourceError, match="There is no record with arm = 1"):
        ask_people(tmp_path / "spelt.csv", {"arm": ["1", "2"]}, domain=domain)
    with pytest.raises(SourceError, match="'arm' has type int64, but its levels are text"):
        ask_people(visits, {"arm": ["1", "2"]}, domain=domain)
    halves = ask_people(visits.assign(arm=visits["arm"] / 2), {"arm": [0.5, 1.0]}, domain=domain)
    assert [*halves] == [0.5, 1]
    assert np.array_equal(halves[0.5].second_moment, made[1].second_moment)
    halves.save(tmp_path / "halves.release")
    assert gv.GroupedRelease.load(tmp_path / "halves.release") == halves


def test_weights_and_people_and_groups_together(visits):
    """A group is read as a table of its own rows would be; weights are a column, or come beside the rows."""
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(visits))
    weighted = visits.assign(w=weights)
    domain = replace(PEOPLE, weight=gv.Weight("w", largest=3.0))
    options = ReleaseOptions(domain, BUDGET, by=Grouping.of(SEXES))
    opened, _ = open_rows(weighted, options, None, None)
    for sex, group in zip(SEXES["sex"], split_groups(opened, options), strict=True):
        rows = np.concatenate([rows for rows, _ in group.read()])
        assert np.array_equal(rows, weighted.loc[weighted["sex"] == sex, ["x", "y", "w"]].to_numpy())
    made = ask_people(weighted, SEXES, domain=domain)
    assert made.event.counts == tuple(visits[visits["sex"] == sex]["id"].nunique() for sex in SEXES["sex"])
    array = visits[["x", "y"]].to_numpy()
    beside = replace(DOMAIN, weight=domain.weight)
    for source in (visits.drop(columns="id"), (array, visits["sex"].to_numpy())):
        again = ask_people(source, SEXES, domain=beside, person=visits["id"], weight=weights)
        assert np.array_equal(again["M"].second_moment, made["M"].second_moment)


# ------------------------------------------------------------------ being in a group is a secret
HIDDEN = {name: replace(domain, neighbours="add-remove") for name, domain in (("rows", DOMAIN), ("people", PEOPLE))}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_somebody_more_moves_their_own_groups_alone_and_nothing_public(visits, hidden):
    """Their number by one; of what is public, and of groups that they are not in, nothing; a group may be empty."""
    asked = {"domain": HIDDEN[hidden], "by": {"year": [2020, 2021, 2023]}}
    new = pd.DataFrame({"x": 5.0, "y": -5.0, "id": "somebody new", "year": [2020, 2023, 2019], "sex": "F"})
    more = new[1:] if hidden == "rows" else new
    one, two = ask_people(visits, **asked), ask_people(pd.concat([visits, more], ignore_index=True), **asked)
    assert one.event == two.event
    assert one.guarantee == two.guarantee
    assert one.event.counts is one.event.n_samples is one[2023].event.n_samples is None
    assert np.array_equal(one[2021].second_moment, two[2021].second_moment)
    for year in (2020, 2021, 2023):
        count = one[year].answers[0].values["count"] - two[year].answers[0].values["count"]
        assert count == pytest.approx(-(year in more["year"].to_numpy()))
    assert one[2023].n_samples >= 1


@pytest.mark.parametrize(("hidden", "several"), [("rows", 1), ("people", 2)])
def test_hidden_groups_are_charged_for_everybody_who_could_be_in_them(visits, hidden, several, tmp_path):
    """A row is in one group. A person could be in all that are declared, though here everybody is in one."""
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("d", BUDGET)
    made = gv.release(visits, domain=HIDDEN[hidden], budget=BUDGET, by=SEXES, ledger=ledger, dataset="d")
    assert ledger.spent("d").epsilon <= BUDGET.epsilon
    assert "secret, in groups" in str(ledger.history("d"))
    assert made.event.groups_per_person == several
    for part in made.values():
        steps = [answer.step for answer in part.answers]
        assert several * sum(Fraction(step.mu) ** 2 for step in steps) <= Fraction(made.event.mu) ** 2
        spent = sum(Fraction(step.eta) for step in steps) + Fraction(part.event.id_collisions)
        assert several * spent <= Fraction(made.event.eta)
        assert part.event.mu == pytest.approx(made.event.mu / np.sqrt(several))
        assert "who belongs to this group" in part.guarantee
        assert "is secret" in part.guarantee
        assert "not hidden" not in str(privacy_card(part))
        assert "who belongs" not in dict(privacy_card(part).facts)["Public facts"]
    assert GroupedEvent.from_json(made.event.to_json()) == made.event
    sizes = {"neighbours": "replace", "n_samples": 9, "counts": (4, 5)}
    for forged in ({"counts": (4, 5)}, {"groups_per_person": 3 - several}, sizes | {"counts": None}):
        with pytest.raises(InvalidParameter, match=r"counts must be|groups_per_person must not"):
            replace(made.event, **forged)
    assert "about" in made._repr_html_()


def test_hidden_groups_are_compared_and_reported(visits):
    made = ask_people(visits, SEXES, seed=None, domain=HIDDEN["rows"], adaptive=True, budget=gv.Budget(8.0, 1e-6))
    found = gv.compare(made["F"], made["M"])
    assert found.means.p_value[found.means.labels.index("y")] < 1e-6
    assert "secret" in report_html(made)
    with pytest.raises(InvalidParameter, match="cannot be merged: sizes of sites are secret"):
        gv.merge_releases([*made.values()])


# ------------------------------------------------------------------ rows on other machines
def test_partitions_have_the_same_groups_to_the_last_bit(visits):
    """Rows and people, weighted or not, in groups that are public or secret; columns are named by the frame."""
    frame = visits.assign(w=np.linspace(0.1, 4.0, len(visits)), year=visits["year"].where(visits["year"] > 2019))
    parts = dask.dataframe.from_pandas(frame, npartitions=3)
    weighted = replace(PEOPLE, weight=gv.Weight("w", largest=3.0))
    for domain, by, adaptive in (
        (DOMAIN, SEXES, True),
        (PEOPLE, YEARS, True),
        (weighted, YEARS, False),
        (replace(PEOPLE, variation="between"), SEXES, True),
        (HIDDEN["people"], {"year": [2020, 1900]}, False),
    ):
        asked = {"domain": domain, "adaptive": adaptive}
        assert ask_people(parts, by, **asked) == ask_people(frame, by, **asked)
    named = ["x", "y", "year"]
    asked = {"by": YEARS, "domain": gv.Domain(bounds=(-5, 5)), "adaptive": False}
    assert ask_people(parts[named], **asked) == ask_people(frame[named], **asked)
    with pytest.raises(SourceError, match="no record with sex = X"):
        ask_people(parts, {"sex": ["F", "X"]})
    array = dask.array.from_array(frame[named].to_numpy(), chunks=(500, 3))
    with pytest.raises(SourceError, match="An array has no column of levels"):
        ask_people(array, YEARS, domain=DOMAIN)


def test_people_who_do_not_meet_are_noticed_in_their_groups(visits):
    parts, ledger = dask.dataframe.from_pandas(visits, npartitions=3), Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskPartitions, "_bring_together", DaskPartitions._keyed)
        with pytest.raises(SourceError, match="nothing from this pass is used"):
            ask_people(parts, YEARS, ledger=ledger, dataset="d")
    assert ledger.events == []


def test_a_level_has_one_number_however_it_is_written():
    """Minus zero is zero: it would be another group where only bits are compared."""
    levels = np.array([0.0, -0.0, 1.0, np.nan, np.inf, 2.0])
    assert number_groups(levels, (1.0, 0.0)).tolist() == [1, 1, 0, -1, -1, -1]
    frame = pd.DataFrame({"x": 1.0, "y": 0.5, "id": np.arange(40) % 20, "arm": [0.0, 1.0] * 10 + [-0.0, 1.0] * 10})
    parts, asked = dask.dataframe.from_pandas(frame, npartitions=4), {"by": {"arm": [0, 1]}, "domain": PEOPLE}
    made = ask_people(parts, **asked)
    assert made.event.counts == (10, 10)
    assert made == ask_people(frame, **asked)
