"""What the script of PostgreSQL's image does in a new volume, with the programs of this machine.

Source: ``docker_init_database_dir``, ``docker_temp_server_start`` and ``docker_setup_db`` of
docker-entrypoint.sh, for PostgreSQL 17.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from testkit.kafka_jars import Unavailable
from testkit.load import scaled
from testkit.postgres import account, programs

_STEP_S: Final = 60


def made_database(
    *, user: str, password: str, initdb: str, script: str, secret: str, hba: str
) -> str:
    """Make a cluster as the image does, and run a script of its folder; ``initdb`` are arguments.

    ``secret`` is the file ``/run/secrets/postgres.password`` of the script, ``hba`` the file of
    access rules. Return the owner of the database doorkeeper, and whether it is a superuser.

    Raises:
        Unavailable: Debian's package is missing.
        RuntimeError: a step fails; with what it says.

    """
    found = programs()
    if found is None:
        raise Unavailable("PostgreSQL: not installed (Debian's postgresql; make setup-system)")
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    superuser, data = folder / "password", folder / "data"
    superuser.write_text(f"{password}\n")
    nodes, rules, sql = folder / "nodes", folder / "hba", folder / "script.sql"
    nodes.write_text(secret)
    rules.write_text(hba)
    sql.write_text(script.replace("/run/secrets/postgres.password", str(nodes)))
    own = account()
    for path in (folder, superuser, nodes, rules, sql):
        if own:
            os.chown(path, own["user"], own["group"])

    def run(program: str, *words: str) -> str:
        done = subprocess.run(
            [found / program, *words],
            env={"PATH": os.environ["PATH"], "PGPASSWORD": password, "PGHOST": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            timeout=scaled(_STEP_S),
            **own,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")
        return str(done.stdout).strip()

    who = (f"--username={user}", "--no-password", "--no-psqlrc", "--dbname=postgres")
    owner = (
        "SELECT rolname, rolsuper FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba"
        " WHERE datname = 'doorkeeper'"
    )
    try:
        run(
            "initdb",
            f"-D{data}",
            f"--username={user}",
            f"--pwfile={superuser}",
            *shlex.split(initdb),
        )
        where = f"-c listen_addresses= -c unix_socket_directories={folder} -c hba_file={rules}"
        run("pg_ctl", f"-D{data}", "-o", where, "-l", str(folder / "log"), "-w", "start")
        try:
            run("psql", *who, "-v", "ON_ERROR_STOP=1", "-f", str(sql))
            return run("psql", *who, "-At", "-c", owner)
        finally:
            run("pg_ctl", f"-D{data}", "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
