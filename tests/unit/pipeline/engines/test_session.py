"""What Spark is started with, without starting it."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.engines import session
from doorkeeper_pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pathlib import Path


def test_missing_java_is_reported(tmp_path: Path) -> None:
    """Without Java there is one line that says what to do; JAVA_HOME or the path has it."""
    with pytest.raises(PipelineError, match="--engine local"):
        session.check_java({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)})

    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o755)
    session.check_java({"PATH": "", "JAVA_HOME": str(tmp_path)})
    session.check_java({"PATH": str(java.parent)})


def test_user_settings_override_defaults(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.ui.enabled true\n")
    variables = {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.log.level=INFO -c 'spark.x=a b' pyspark-shell",
    }

    found = session.settings("spark://m:7077", variables)

    assert session.users_settings(variables) >= {"spark.ui.enabled", "spark.log.level", "spark.x"}
    assert "spark.ui.enabled" not in found
    assert "spark.log.level" not in found
    assert "spark.driver.host" not in found
    assert "spark.driver.extraJavaOptions" not in found
    here = session.settings("local[2]", variables)
    assert here["spark.driver.host"] == "127.0.0.1"
    assert here["spark.driver.extraJavaOptions"] == session.QUICK_JAVA


def test_worker_archive_is_importable(tmp_path: Path) -> None:
    names = zipfile.ZipFile(session.package_archive(tmp_path)).namelist()

    assert "doorkeeper/__init__.py" in names
    assert "doorkeeper_pipeline/jobs/read.py" in names
    assert not any("__pycache__" in name for name in names)
