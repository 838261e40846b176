"""Databases that fail: every fault gives one clear error, loses nothing, and the ledger goes on when it is mended."""

import os
import pwd
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
import sqlalchemy as sa

import graphveil as gv
from graphveil.exceptions import (
    GraphveilError,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerUnavailable,
)
from graphveil.ledger import database, schema
from helpers.ledgers import can_mount, event, opened, release, request, with_mounts
from helpers.postgres_server import free_port


def in_a_child(action):
    """Run ``action`` in a fork, and give back what it returns, as text: for limits and users that cannot be undone."""
    reading, writing = os.pipe()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of a fork beside threads
        process = os.fork()
    if process == 0:
        try:
            said = action()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, str(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return said


def error_of(action):
    try:
        action()
    except GraphveilError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


# ---------------------------------------------------------------- permissions
def as_somebody_else(action):
    """Root may write everything: become nobody first."""

    def changed():
        if os.geteuid() == 0:
            account = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
        return action()

    return in_a_child(changed)


@pytest.fixture
def shared():
    """A folder and a ledger that belong to whoever :func:`as_somebody_else` becomes, and where he can find them."""
    folder = Path(tempfile.mkdtemp(prefix="graphveil-shared-"))
    ledger = opened(folder / "ledger.db")
    release(ledger, key="before")
    if os.geteuid() == 0:
        account = pwd.getpwnam("nobody")
        for each in (folder, *folder.iterdir()):
            os.chown(each, account.pw_uid, account.pw_gid)
    yield folder, ledger
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o400, 0o700), (0o600, 0o500), (0o000, 0o700), (0o600, 0o000)])
def test_permission_lost(shared, file_mode, folder_mode, no_draw):
    folder, ledger = shared
    (folder / "ledger.db").chmod(file_mode)
    folder.chmod(folder_mode)
    said = as_somebody_else(lambda: error_of(lambda: release(ledger, key="after")))
    assert said.startswith("LedgerReadOnly: The ledger in "), said
    folder.chmod(0o700)
    (folder / "ledger.db").chmod(0o600)
    assert [entry.key for entry in ledger.history("people")] == ["before"]
    assert as_somebody_else(lambda: error_of(lambda: ledger.charge("people", event(0.1)))) == "no error"
    assert len(ledger.history("people")) == 2
    ledger.verify()


def test_what_may_only_be_read_can_be_read(shared):
    folder, ledger = shared
    (folder / "ledger.db").chmod(0o400)
    folder.chmod(0o500)
    assert as_somebody_else(lambda: ledger.verify()["people"]).startswith("2:")  # the charge, and what was stored
    assert as_somebody_else(lambda: release(ledger, key="before").n_samples) == "30"  # a replay writes nothing


def test_a_ledger_where_no_file_can_be_made(shared):
    folder, _ = shared
    folder.chmod(0o500)
    said = as_somebody_else(lambda: error_of(lambda: opened(folder / "new.db")))
    assert said == f"LedgerReadOnly: The ledger {folder}/new.db cannot be made: Permission denied."
    assert "LedgerUnavailable" in error_of(lambda: opened(folder / "no folder" / "new.db"))


# ---------------------------------------------------------------- a full disk
FULL = """
import os, subprocess, sys
from pathlib import Path
folder = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", folder], check=True)
from helpers.ledgers import opened, release
from graphveil.exceptions import LedgerFull, LedgerWarning
from graphveil.privacy import noise
import warnings
warnings.simplefilter("error")
ledger = opened(folder / "ledger.db")
release(ledger, key="before")
draw, drawn = noise.draw_discrete_gaussian, []
noise.draw_discrete_gaussian = lambda *arguments: drawn.append(1) or draw(*arguments)
filler = (folder / "filler").open("wb", buffering=0)
outcomes = []
for step in range(200):  # ever less room: the charge, the journal, the release, whatever comes first
    try:
        filler.write(bytes(1024))
    except OSError:
        pass
    before, drawn[:] = len(ledger.history("people")), []
    try:
        release(ledger, key=f"step {step}", budget=type(ledger.budget("people"))(0.01, 1e-6))
        outcomes.append("released")
    except LedgerWarning:
        outcomes.append("not stored")
    except LedgerFull:
        outcomes.append("refused")
        assert not drawn or len(ledger.history("people")) == before + 1
    ledger.verify()
    if outcomes[-5:] == ["refused"] * 5:
        break
filler.close()
os.unlink(folder / "filler")
release(ledger, key="after")
ledger.verify()
made = len(outcomes) - outcomes.count("refused")
print(*sorted(set(outcomes)), made == len(ledger.history("people")) - 2)
"""


def test_a_full_disk(tmp_path, path):
    said = with_mounts(FULL, tmp_path).split()
    assert said[-3:-1] == ["refused", "released"]
    assert said[-1] == "True"


SMALL_SERVER = """
set -e
mount -t tmpfs -o size=64m none "$DATA"
"$HOME_OF_POSTGRES/initdb" -D "$DATA/data" --waldir="$DATA-wal" -U postgres -A trust -E UTF8
exec "$HOME_OF_POSTGRES/postgres" -D "$DATA/data" -p "$PORT" -k "$DATA" -c listen_addresses=127.0.0.1
"""


@pytest.fixture
def small_server(postgres, tmp_path):
    """A server of its own with its tables on a disk of 64 MB, in a namespace where it is not root."""
    if not can_mount():
        pytest.skip("no mount namespace")
    (tmp_path / "disk").mkdir()
    port = free_port()
    own = {"DATA": str(tmp_path / "disk"), "HOME_OF_POSTGRES": str(postgres.home / "bin"), "PORT": str(port)}
    apart = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--keep-caps", "--mount"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*apart, "sh", "-c", SMALL_SERVER],
            env={"LC_ALL": "C", "PATH": os.environ["PATH"], **own},
            stdout=log,
            stderr=log,
        )
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        for _ in range(300):
            if server.poll() is None and _answers(url):
                break
            time.sleep(0.1)
        else:
            pytest.fail((tmp_path / "log").read_text())
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


def _answers(url):
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error:
        return False
    return True


def filled_up(connection, size):
    while True:
        connection.execute("INSERT INTO ballast VALUES (%s)", [os.urandom(size)])


def charge_on(ledger, granted):
    while len(granted) < 5000:  # there is some room in the last pages
        ledger.charge("people", event(0.01))
        granted.append(1)


def test_a_server_whose_disk_is_full(small_server, no_draw):
    """Refused before the draw, nothing lost; it goes on once there is room."""
    ledger = gv.Ledger(small_server)
    ledger.create("people", gv.Budget(8.0, 1e-6))
    ledger.charge("people", event(0.01))
    with psycopg.connect(small_server, autocommit=True) as connection:
        connection.execute("CREATE UNLOGGED TABLE ballast (x bytea STORAGE EXTERNAL)")
        for size in (2**20, 2**14, 2**10):  # coarse, then fine, until not a page is left
            with pytest.raises(psycopg.errors.DiskFull):
                filled_up(connection, size)
        granted = []
        with pytest.raises(LedgerFull, match="has no space left"):
            charge_on(ledger, granted)
        with pytest.raises(LedgerFull):
            release(ledger, budget=gv.Budget(0.01, 1e-6))
        connection.execute("DROP TABLE ballast")
    ledger.charge("people", event(0.01))
    assert len(ledger.history("people")) == len(granted) + 2
    ledger.verify()


def limited_file_size(path):
    """Where nothing can be mounted: the kernel refuses to let files grow."""
    ledger = opened(path)
    ledger.charge("people", event(0.1))

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
        while True:
            said = error_of(lambda: ledger.charge("people", event(1e-3)))
            if said != "no error":
                return said

    assert in_a_child(limited).startswith(("LedgerFull", "LedgerUnavailable"))
    ledger.verify()
    ledger.charge("people", event(0.1))


def test_files_that_may_not_grow(path):
    limited_file_size(path)


# ---------------------------------------------------------------- damage
def test_not_a_database(path):
    path.write_text("name,age\nanna,31\n" * 50)
    for use in (lambda: gv.Ledger(path).verify(), lambda: opened(path)):
        with pytest.raises(LedgerDamaged, match="Restore it from a copy") as refused:
            use()
        assert "anna" not in str(refused.value)
    assert path.read_text().startswith("name,age")


def test_a_missing_table(url):
    ledger = opened(url)
    ledger.charge("people", event(0.1))
    for table in (schema.releases, schema.events):
        ledger._store.write(table.drop)
        for use in (ledger.verify, lambda: ledger.history("people")):
            with pytest.raises(LedgerDamaged, match="is damaged"):
                use()
    with pytest.raises(LedgerDamaged):
        ledger.charge("people", event(0.1))


@pytest.mark.parametrize("version", [0, 3, 99])
def test_another_version_is_refused_and_left_alone(url, version):
    ledger = opened(url)
    ledger._store.write(lambda connection: connection.execute(schema.ledgers.update().values(version=version)))
    for use in (
        ledger.verify,
        lambda: ledger.charge("people", event(0.1)),
        lambda: ledger.create("more", gv.Budget(1, 1e-6)),
    ):
        with pytest.raises(
            LedgerDamaged, match=f"has ledger version {version}; this graphveil reads and writes version 2"
        ):
            use()


def test_a_database_of_something_else_is_not_touched_but_can_be_shared(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE patients (name TEXT)")
    other.close()
    with pytest.raises(LedgerError, match=r"no ledger in .*from zero"):
        gv.Ledger(path).verify()
    opened(path).charge("people", event(0.1))
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM patients").fetchone() == (0,)
    other.close()


def test_any_damaged_byte_is_noticed_or_harmless(path):
    """Bytes overwritten all over the file: a clear error, or a ledger that says exactly what it said before."""
    ledger = opened(path)
    release(ledger, key="k")
    ledger.charge("people", event(0.1))
    good, content = ledger.export(), path.read_bytes()
    outcomes = {"noticed": 0, "harmless": 0}
    for start in range(0, len(content), 331):
        path.write_bytes(
            content[:start] + bytes(byte ^ 0x5A for byte in content[start : start + 4]) + content[start + 4 :]
        )
        try:
            assert ledger.export() == good
            assert release(ledger, key="k").n_samples == 30
            outcomes["harmless"] += 1
        except (LedgerError, gv.exceptions.ReleaseFileError):
            outcomes["noticed"] += 1
    assert min(outcomes.values()) > 5, outcomes
    path.write_bytes(content)
    ledger.verify()


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 10_000])
def test_a_truncated_file(path, size):
    ledger = opened(path)
    release(ledger, key="k")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(LedgerError):
        ledger.verify()
    with pytest.raises(LedgerError):
        ledger.charge("people", event(0.1))


# ---------------------------------------------------------------- locks
def test_a_file_that_somebody_keeps_locked(path, monkeypatch, no_draw):
    monkeypatch.setattr(database, "_PATIENCE", 0.2)
    ledger = opened(path)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="stays locked"):
        release(ledger)
    assert ledger.spent("people").mu == 0.0  # reading goes on
    blocker.execute("ROLLBACK")
    blocker.close()
    ledger.charge("people", event(0.1))


def test_a_row_that_somebody_keeps_locked(postgres, monkeypatch, no_draw):
    import psycopg

    monkeypatch.setattr(database, "_PATIENCE", 1)
    url = postgres.new_schema()
    ledger = opened(url)
    with psycopg.connect(url) as blocker:
        blocker.execute("SELECT * FROM graphveil_datasets FOR UPDATE")
        with pytest.raises(LedgerUnavailable, match="stays locked"):
            release(ledger)
        assert ledger.spent("people").mu == 0.0
    ledger.charge("people", event(0.1))


def test_a_stopped_writer_does_not_hold_the_file_for_ever(path):
    """SIGKILL in the middle of a transaction: the next one goes on at once, and the half is gone."""
    ledger = opened(path)

    def dies():
        def work(connection):
            connection.execute(schema.datasets.update().values(head="0" * 64))
            os.kill(os.getpid(), signal.SIGKILL)

        ledger._store.write(work)

    assert in_a_child(dies) == ""
    ledger.charge("people", event(0.1))
    ledger.verify()


# ---------------------------------------------------------------- durability
def test_a_file_is_written_durably(path):
    ledger = opened(path)

    def settings(connection):
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "journal_mode")]

    assert ledger._store.write(settings) == [3, "delete"]  # EXTRA: the directory entry of the journal, too


def test_a_server_is_made_to_wait_for_its_disk(postgres):
    url = f"{postgres.new_schema()} -csynchronous_commit%3Doff"
    ledger = opened(url)

    def setting(connection):
        return connection.exec_driver_sql("SHOW synchronous_commit").scalar()

    assert ledger._store.read(setting) == "off"
    assert ledger._store.write(setting) == "on"


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_a_commit_is_refused(postgres, setting, no_draw):
    ledger = opened(postgres.new_schema())
    postgres.execute(f"ALTER SYSTEM SET {setting} = off")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        wait_for(lambda: postgres.execute(f"SHOW {setting}") == [("off",)])
        with pytest.raises(LedgerError, match=f"{setting}=off: a power cut could forget"):
            release(ledger)
    finally:
        postgres.execute(f"ALTER SYSTEM RESET {setting}")
        postgres.execute("SELECT pg_reload_conf()")
        wait_for(lambda: postgres.execute(f"SHOW {setting}") == [("on",)])
    ledger.charge("people", event(0.1))


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ---------------------------------------------------------------- a server that goes away
def test_a_restarted_server_costs_time_but_no_charge(postgres):
    """Charges go on while the server is stopped, the hard way, and started again: each counts once."""
    ledger = opened(postgres.new_schema(), budget=gv.Budget(4.0, 1e-6))
    errors, done, stop = [], [], threading.Event()

    def work():
        try:
            while not stop.is_set():
                ledger.charge("people", event(0.01))
                done.append(1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for mode in ("immediate", "fast"):
        before = len(done)
        wait_for(lambda: errors or len(done) > before + 3)  # noqa: B023
        postgres.stop(mode)
        postgres.start()
    before = len(done)
    wait_for(lambda: errors or len(done) > before + 3)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(ledger.history("people")) == len(done)
    ledger.verify()


def test_connections_that_are_cut_charge_once(postgres):
    """Somebody ends all connections, a little later into every charge: before it, at work, at the commit, after it."""
    ledger = opened(postgres.new_schema(), budget=gv.Budget(4.0, 1e-6))
    ends = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    for number in range(25):
        cutter = threading.Timer(0.003 * number, postgres.execute, [ends])
        cutter.start()
        ledger.charge("people", event(0.01))
        cutter.join()
    assert len(ledger.history("people")) == 25
    ledger.verify()


def test_a_lost_answer_to_a_commit_is_not_a_second_charge(url, monkeypatch):
    """The fault itself cannot be timed: the first attempt of every transaction commits, and then looks lost."""
    run, lost = database.Store._run, set()

    def forgetful(self, work, **options):
        result = run(self, work, **options)
        if work not in lost:
            lost.add(work)
            raise sa.exc.OperationalError("COMMIT", {}, Exception("connection lost"), connection_invalidated=True)
        return result

    monkeypatch.setattr(database.Store, "_run", forgetful)
    ledger = opened(url)
    made = release(ledger, key="k")
    ledger.charge("people", event(0.1))
    assert release(ledger, key="k") == made
    assert len(ledger.history("people")) == 2
    assert len(lost) > 5
    ledger.verify()


def test_a_server_that_is_not_there(monkeypatch, no_draw):
    monkeypatch.setattr(database, "_OUTAGE", 0.3)
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as refused:
        release(gv.Ledger("postgresql://me:secret@127.0.0.1:1/db"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["password", "database"])
def test_a_server_that_says_no_is_not_asked_again(postgres, wrong, monkeypatch):
    url = (
        postgres.url().replace("/postgres?", "/nothing?")
        if wrong == "database"
        else postgres.url().replace(":", ":x", 2)
    )
    waits = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: pytest.fail("it would ask again"))
    monkeypatch.setattr(database, "time", waits)
    with pytest.raises(LedgerUnavailable):
        gv.Ledger(url.replace(":x//", "://")).verify()


def test_a_connection_that_is_cut_while_it_is_made_is_tried_again(postgres, monkeypatch):
    """What the driver says then has no state. The instant cannot be timed: the first attempt is made to fail so."""
    ledger, run, said = opened(postgres.new_schema()), database.Store._run, []

    def cut(self, work, **options):
        if not said:
            said.append("connection failed: FATAL:  terminating connection due to administrator command")
            raise sa.exc.OperationalError("connect", {}, psycopg.OperationalError(said[0]))
        return run(self, work, **options)

    monkeypatch.setattr(database.Store, "_run", cut)
    ledger.charge("people", event(0.1))
    assert said
    assert len(ledger.history("people")) == 1


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def encoded(request, postgres):
    """The URL of a database in another encoding than UTF-8."""
    name = f"encoded_{request.param.lower()}"
    postgres.execute(f"DROP DATABASE IF EXISTS {name}")
    postgres.execute(
        f"CREATE DATABASE {name} ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    return request.param, postgres.url().replace("/postgres?", f"/{name}?")


def test_a_server_in_another_encoding(encoded):
    encoding, url = encoded
    ledger = opened(url, "Größe")
    ledger.charge("Größe", event(0.1), request("Straße", "Größe"))
    assert ledger.datasets() == ("Größe",)
    assert ledger.history("Größe")[0].key == "Straße"
    if encoding == "SQL_ASCII":  # keeps any bytes, and counts them as letters
        ledger.create("😀", gv.Budget(1.0, 1e-6))
        wide = "ж" * 150
    else:
        wide = "😀"
    with pytest.raises(LedgerError, match="cannot store this name in its encoding"):
        ledger.create(wide, gv.Budget(1.0, 1e-6))
    ledger.verify()


def test_text_that_is_none_is_damage(postgres):
    postgres.execute("DROP DATABASE IF EXISTS garbled")
    postgres.execute("CREATE DATABASE garbled ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = postgres.url().replace("/postgres?", "/garbled?")
    ledger = opened(url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE graphveil_datasets SET name = E'\\xFF'")
    with pytest.raises(LedgerDamaged, match="invalid byte sequence"):
        ledger.verify()


def test_postgresql_without_its_driver_says_what_to_install():
    code = (
        "import sys; sys.modules['psycopg'] = None\nimport graphveil as gv\n"
        "try: gv.Ledger('postgresql://a@b/c').verify()\nexcept ImportError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'graphveil[postgres]'" in out
