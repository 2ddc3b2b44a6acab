"""The SparkSession: one for all tables of a command, since its start costs seconds.

Settings: no web page and no progress bar (it corrupts the output). The user's own settings, of
``--conf``, ``PYSPARK_SUBMIT_ARGS`` or spark-defaults.conf, go before ours; no table depends on one,
for tasks read and write tables themselves.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import zipfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a JVM on this machine: it only hands tasks to Python, and its best code would take a
quarter of the processor time of a run of 1,000,000 lines to make."""

LOCAL_MASTER = "local[*]"
CONNECT = "sc://"
PACKAGES = ("doorkeeper", "doorkeeper_pipeline")
"""The files of this package that workers on other machines need."""


def check_java(environment: Mapping[str, str] = os.environ) -> None:
    """Say in a line that Java is missing, instead of Spark's traceback.

    Raises:
        PipelineError: there is no java in JAVA_HOME or on the path.

    """
    home = environment.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java", path=environment.get("PATH")) is None:
        raise PipelineError(
            "found no java in JAVA_HOME or PATH. Spark requires Java 17 or later; --engine local"
            " does not"
        )


def check_pyspark() -> None:
    """Say in a line that PySpark is missing.

    Raises:
        PipelineError: the package is not installed.

    """
    if find_spec("pyspark") is None:
        raise PipelineError(
            "pyspark is not installed; run pip install 'doorkeeper[spark]', or use --engine local"
        )


def users_settings(environment: Mapping[str, str] = os.environ) -> set[str]:
    """Return the names of the settings that the user's installation has."""
    folder = environment.get("SPARK_CONF_DIR") or f"{environment.get('SPARK_HOME', '')}/conf"
    file = Path(folder) / "spark-defaults.conf"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    named = {re.split(r"[\s=:]", line.strip(), maxsplit=1)[0] for line in text.splitlines()}
    words = shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", ""))
    submitted = {
        value.partition("=")[0] for option, value in pairwise(words) if option in {"--conf", "-c"}
    }
    return named | submitted


def settings(master: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return our settings for a master."""
    ours = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        ours["spark.driver.bindAddress"] = "127.0.0.1"
        ours["spark.driver.host"] = "127.0.0.1"
        ours["spark.driver.extraJavaOptions"] = QUICK_JAVA
    users = users_settings(environment)
    return {name: value for name, value in ours.items() if name not in users}


def start(master: str, name: str, given: Mapping[str, str]) -> SparkSession:
    """Start Spark, or take the session that runs already; ``sc://`` is the address of another's.

    ``given`` are the user's settings for this command.

    Raises:
        PipelineError: Java or PySpark is not there.
        PipelineError: the session cannot be made, in one line.

    """
    check_pyspark()
    is_remote = master.startswith(CONNECT)
    if not is_remote:
        check_java()
    # The workers must be of this interpreter, also where `python3` is another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        # Else Spark warns of host names that are the loopback's.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    builder = builder.remote(master) if is_remote else builder.master(master)
    ours = {} if is_remote else settings(master)
    for key, value in {**ours, **given}.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        first = first_line(error)
        raise PipelineError(f"Spark failed to start with master {master}: {first}") from error
    return session


def first_line(error: BaseException) -> str:
    """Return the first line of an error of Spark's."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def package_archive(folder: Path) -> Path:
    """Write our packages as a zip that Spark can send to workers; return its path.

    A wheel would be ignored by ``--py-files``: only .zip, .egg and .jar are taken.
    """
    target = folder / "doorkeeper_packages.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            root = Path(spec.origin).parent
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, f"{package}/{path.relative_to(root)}")
    return target
