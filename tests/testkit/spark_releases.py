"""The releases of Spark on which the pipeline runs: that of this environment, and the oldest."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from testkit.checkout import ROOT
from testkit.clients import Client
from testkit.kafka_jars import other_jars


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of Spark.

    ``delta`` is the folder below ``tests/interop`` with the pom of Delta's reader, ``connect`` that
    of the server of Spark Connect, where PySpark lacks it. A ``client`` has a PySpark that stands
    in front of this environment's in the search path; all else is the same.
    """

    name: str
    delta: str
    connect: str = ""
    client: Client | None = None

    def __str__(self) -> str:
        return self.name

    def pyspark(self) -> Path:
        """Return the folder of PySpark; it is installed if need be.

        Raises:
            Unavailable: it cannot be installed on this machine.
        """
        if self.client is not None:
            return self.client.site_packages() / "pyspark"
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        return Path(spec.origin).parent

    def environment(self, *path: Path) -> dict[str, str]:
        """Return the variables that all of its processes need, with folders of the search path.

        Our packages are not in it: so a worker finds them only when the driver sends them.

        Raises:
            Unavailable: as ``pyspark``.
        """
        home = self.pyspark()
        folders = [*([home.parent] if self.client is not None else []), *path]
        return {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
        }


def jars_of(folder: str) -> str:
    """Return the jars of the pom in a folder below ``tests/interop``, as Spark takes them.

    Raises:
        Unavailable: Maven cannot fetch them.
    """
    found = other_jars(ROOT / "tests" / "interop" / folder / "pom.xml")
    return ",".join(sorted(map(str, found.glob("*.jar"))))


HERE = Release(name="4.1", delta="spark_delta")
OLDEST = Release(
    name="3.5",
    delta="spark_delta_3_5",
    connect="spark_connect_3_5",
    client=Client(name="pyspark-3.5", driver="none of its own"),
)
RELEASES = (OLDEST, HERE)
