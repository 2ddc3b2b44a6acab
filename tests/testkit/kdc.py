"""A Kerberos realm of its own: krb5kdc on a free port of loopback, in a temporary folder.

No service of the machine is touched. ``configuration`` is the krb5.conf of clients and servers;
keytabs and ticket caches are files beside it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from testkit.kafka_broker import free_port, wait_for_port
from testkit.kafka_jars import Unavailable
from testkit.load import scaled

REALM = "EXAMPLE.COM"

_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_COMMAND_S = 30

_KRB5_CONF = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_KDC_CONF = """\
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    max_life = 1d
    max_renewable_life = 7d
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""


def missing_packages() -> str | None:
    """Return what to say where Debian's packages, or Python's, are not installed, else None."""
    if find_spec("gssapi") is None:
        return "gssapi: not installed (the extra kerberos; make interop)"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if not missing:
        return None
    packages = "krb5-kdc, krb5-admin-server, krb5-user; make setup-system"
    return f"{', '.join(missing)}: not installed ({packages})"


class Kdc:
    """One realm; ``start`` returns when it gives tickets, ``close`` leaves nothing behind."""

    def __init__(self) -> None:
        """Make the files of a realm.

        Raises:
            Unavailable: Debian's packages are missing.
        """
        missing = missing_packages()
        if missing is not None:
            raise Unavailable(missing)
        self.realm = REALM
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="kdc-"))
        self.configuration = self.folder / "krb5.conf"
        self._process: subprocess.Popen[bytes] | None = None
        words = {"realm": REALM, "port": self.port, "folder": self.folder}
        self.configuration.write_text(_KRB5_CONF.format(**words))
        (self.folder / "kdc.conf").write_text(_KDC_CONF.format(**words))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs to find this realm."""
        return {
            "KRB5_CONFIG": str(self.configuration),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5RCACHENAME": f"dfl:{self.folder}",
            "KRB5RCACHEDIR": str(self.folder),
        }

    def start(self) -> None:
        """Make the database and give tickets."""
        self._run("kdb5_util", "create", "-s", "-r", self.realm, "-P", "master")
        with (self.folder / "out.txt").open("wb") as log:
            self._process = subprocess.Popen(
                ["krb5kdc", "-n", "-r", self.realm],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environment(),
            )
        wait_for_port(self.port, self._process, self.folder / "out.txt")

    def add(self, *principals: str) -> None:
        """Add principals, each with a random key."""
        for principal in principals:
            self._admin(f"addprinc -randkey {_quoted(principal)}")

    def change_key(self, principal: str) -> None:
        """Give a principal another key: keytabs written before hold only the old one."""
        self._admin(f"cpw -randkey -keepold {_quoted(principal)}")

    def keytab(self, name: str, *principals: str) -> Path:
        """Write a keytab with the keys of principals, which stay as they are."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        for principal in principals:
            self._admin(f"ktadd -norandkey -k {path} {_quoted(principal)}")
        return path

    def ticket_cache(self, name: str, keytab: Path, principal: str) -> Path:
        """Log in from a keytab; return the cache with the ticket."""
        path = self.folder / name
        self._run("kinit", "-c", f"FILE:{path}", "-k", "-t", str(keytab), principal)
        return path

    def close(self) -> None:
        """End the KDC and delete the folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", self.realm, "-q", query)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "PATH": _PATH}

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            words,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=scaled(_COMMAND_S),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        # kadmin.local ends with 0 whatever happens, and says on stderr what did.
        said = [line for line in done.stderr.splitlines() if not line.startswith("No policy")]
        if done.returncode != 0 or said:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")


def _quoted(principal: str) -> str:
    return '"' + principal.replace('"', '""') + '"'
