"""An S3 server on this machine: s3proxy over a folder."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.kafka_broker import free_port
from testkit.kafka_jars import other_jars
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POM = ROOT / "tests" / "interop" / "s3proxy" / "pom.xml"
PATIENCE_S = 180.0
KEY, SECRET = "key-of-tests", "secret-of-tests"


@contextmanager
def s3_server(folder: Path, bucket: str) -> Iterator[dict[str, str]]:
    """Run the server with an empty bucket; yield the variables with which clients find it."""
    (folder / "data" / bucket).mkdir(parents=True)
    port = free_port()
    settings = folder / "s3proxy.properties"
    settings.write_text(
        f"s3proxy.authorization=aws-v2-or-v4\ns3proxy.identity={KEY}\n"
        f"s3proxy.credential={SECRET}\ns3proxy.endpoint=http://127.0.0.1:{port}\n"
        f"jclouds.provider=filesystem-nio2\njclouds.identity=x\njclouds.credential=x\n"
        f"jclouds.filesystem.basedir={folder / 'data'}\n"
    )
    command = ["java", "-Xmx256m", "-cp", f"{other_jars(POM)}/*", "org.gaul.s3proxy.Main"]
    with (folder / "s3proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--properties", str(settings)], stdout=log, stderr=log
        )
    try:
        _wait_for(process, port)
        yield {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }
    finally:
        process.kill()
        process.wait(scaled(30))


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    deadline_s = time.monotonic() + scaled(PATIENCE_S)
    while True:
        assert process.poll() is None, "the S3 server has ended"
        assert time.monotonic() < deadline_s, "the S3 server does not answer"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
