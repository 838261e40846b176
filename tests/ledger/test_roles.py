"""What a role of PostgreSQL can do with the rights that docs/ledger.md recommends, and what it cannot."""

import json
import secrets

import pytest

import graphveil as gv
from graphveil.exceptions import LedgerDamaged, LedgerReadOnly
from graphveil.ledger.hash_chain import seal
from graphveil.ledger.schema import datasets, events, ledgers, releases
from graphveil.privacy.composition import Balance
from helpers.ledgers import event, opened, release, request

SPENDER = ["INSERT ON graphveil_events, graphveil_releases", "UPDATE (events, head) ON graphveil_datasets"]


def with_a_role(postgres, name, *rights):
    """A ledger, and the same ledger for a role that may read it and has these rights."""
    url = postgres.new_schema()
    schema = url.rsplit("%3D", 1)[1]
    ledger, name = opened(url), f"{name}_{schema}"
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{name}'")
    for right in (f"USAGE ON SCHEMA {schema}", f"SELECT ON ALL TABLES IN SCHEMA {schema}", *rights):
        postgres.execute(f"GRANT {right} TO {name}", schema)
    return ledger, gv.Ledger(url.replace(f"postgres:{postgres.password}", f"{name}:{name}"))


def test_a_role_that_may_not_write(postgres, no_draw):
    ledger, reader = with_a_role(postgres, "reader")
    assert reader.verify() == ledger.verify()
    with pytest.raises(LedgerReadOnly):
        release(reader)


def test_a_role_that_may_only_append_can_charge_and_store(postgres):
    ledger, spender = with_a_role(postgres, "spender", *SPENDER)
    made = release(spender, key="k")
    assert release(spender, key="k") == made
    ledger.verify()
    for change in (
        events.delete(),
        events.update().values(key="x"),
        datasets.update().values(content=""),
        releases.update().values(content=b""),
        releases.delete(),
    ):
        with pytest.raises(LedgerReadOnly):
            spender._store.write(lambda connection: connection.execute(change))  # noqa: B023
    with pytest.raises(LedgerReadOnly):
        spender.create("more", gv.Budget(1.0, 1e-6))


def forged(ledger, **changes):
    """What a spender may write: one more line, sealed and linked as it should be, and the head that belongs to it."""
    last = json.loads(ledger.history("people")[-1].line)
    content = {**last, "previous": ledger.history("people")[-1].hash, "number": last["number"] + 1, "key": None}
    content |= {"token": secrets.token_hex(16), **changes}
    text, digest = seal(content)
    row = {"dataset": "people", "number": content["number"], "token": content["token"], "key": None}
    return [
        events.insert().values(**row, content=text, hash=digest),
        datasets.update().values(events=content["number"], head=digest),
    ]


NOTHING = Balance().to_dict()
CHEAP = event(0.001)
FORGERIES = {
    "a balance of nothing": lambda l: forged(l, balance=NOTHING),
    "a cheap event, and a balance of it alone": lambda l: forged(
        l, event=CHEAP.to_dict(), mu=repr(CHEAP.mu), balance=Balance().plus(CHEAP).to_dict()
    ),
    "a negative cost": lambda l: forged(l, event={**event(1.5).to_dict(), "eta": -1.0}),
    "a stored release that was never charged": lambda l: forged(l, stored={"key": "l", "checksum": "0" * 64}),
    "a head set back": lambda l: [datasets.update().values(events=0, head=datasets.c.hash)],
    "a head set back to the first charge": lambda l: [
        datasets.update().values(events=1, head=l.history("people")[0].hash)
    ],
    "a line further on": lambda l: forged(l, number=9, balance=NOTHING)[:1],
    "not a line": lambda l: [
        events.insert().values(dataset="people", number=3, token="0" * 32, content="[", hash=seal({})[1])
    ],
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_role_that_may_only_append_cannot_raise_its_balance(postgres, forgery):
    """Each forgery is written with exactly the recommended rights, and the next charge sees it."""
    ledger, spender = with_a_role(postgres, "spender", *SPENDER)
    spender.charge("people", event(1.5), request("k"))
    spender.charge("people", event(0.1))
    left = spender.remaining("people").epsilon

    def write(connection):
        for statement in FORGERIES[forgery](ledger):
            connection.execute(statement)

    spender._store.write(write)
    for use in (
        lambda: spender.charge("people", event(0.01)),
        lambda: spender.check_affordable("people", event(0.01)),
        lambda: spender.remaining("people"),
        lambda: spender.spent("people"),
        spender.verify,
    ):
        with pytest.raises(LedgerDamaged):
            use()
    assert left < 1.5


def test_an_honest_line_written_by_hand_is_a_charge(postgres):
    """The control of the forgeries: with the right sum, a line is accepted, and costs what it says."""
    ledger, spender = with_a_role(postgres, "spender", *SPENDER)
    spender.charge("people", event(0.5))
    balance = Balance().plus(event(0.5)).plus(event(0.5)).to_dict()

    def write(connection):
        for statement in forged(ledger, balance=balance):
            connection.execute(statement)

    spender._store.write(write)
    ledger.verify()
    assert ledger.spent("people").mu == pytest.approx(2**0.5 * event(0.5).mu)


def test_a_role_that_may_only_append_is_told_who_brings_an_old_ledger_up_to_date(postgres):
    ledger, spender = with_a_role(postgres, "spender", *SPENDER)
    ledger.charge("people", event(0.5))
    ledger._store.write(lambda connection: connection.execute(ledgers.update().values(version=1)))
    with pytest.raises(LedgerReadOnly, match="ask its owner to run `graphveil ledger verify` once"):
        spender.charge("people", event(0.1))
    ledger.verify()
    spender.charge("people", event(0.1))
