"""What the processes do in which Spark runs Python, whatever the task is."""

from __future__ import annotations

import sys
from zipimport import zipimporter


def forget_archives() -> None:
    """Forget the finders of zip archives, so that the next task of this worker begins sooner.

    PySpark's workers call ``importlib.invalidate_caches`` before each task, and Python before 3.13
    then reads the directory of ``pyspark.zip`` anew for each package of it that was imported:
    0.2 s a task, more than most tasks take. A later import makes its finder again.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
