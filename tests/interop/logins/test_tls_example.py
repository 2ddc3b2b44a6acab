"""The example of TLS in docs/reference/security.md runs as it stands."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.kafka_broker import free_port
from testkit.kafka_jars import PROJECT, VERSIONS
from testkit.kafka_tools import KafkaTools, write_scripts
from testkit.load import scaled
from testkit.serving import Serving

BLOCK = re.compile(
    r"(?:^`(?P<file>[\w.]+)`:\n\n)?(?P<text>(?:^    .*\n|^\n(?=    ))+)", re.MULTILINE
)
ADDRESS = "localhost:9092"


def blocks() -> list[tuple[str | None, str]]:
    """Return the example's blocks: the name of the file that one is, or None for commands."""
    page = (PROJECT / "docs" / "reference" / "security.md").read_text()
    section = page.partition("\n## TLS\n")[2].partition("\n**Stores.**")[0]
    return [
        (found["file"], re.sub(r"^    ", "", found["text"], flags=re.MULTILINE))
        for found in BLOCK.finditer(section)
    ]


def run(commands: str, folder: Path) -> str:
    """Run commands as a shell does; return what they wrote."""
    done = subprocess.run(
        ["bash", "-ec", f'PATH="{folder}/bin:$PATH"\n{commands}'],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_example_runs_as_printed(kafka_tools: Callable[[str], KafkaTools], tmp_path: Path) -> None:
    """Keys are made, the server starts, and kafka-acls.sh adds an ACL as alice and lists it."""
    if shutil.which("openssl") is None or shutil.which("keytool") is None:
        pytest.skip("openssl or keytool is not installed (make setup-system)")
    address = f"localhost:{free_port()}"
    jars = kafka_tools(VERSIONS[0]).jars
    write_scripts(jars, tmp_path / "bin", plain=address, sasl=address)
    found = [(name, text.replace(ADDRESS, address)) for name, text in blocks()]
    *making, (_, asking) = found
    for name, text in making:
        if name is None:
            run(text, tmp_path)
        else:
            (tmp_path / name).write_text(text)

    with Serving(tmp_path, "--config", "server.properties") as server:
        assert str(server.port("SSL")) in address
        listed = run(asking, tmp_path)
        assert server.stop() == 0

    assert [name for name, _ in found] == [
        None,
        None,
        "server.properties",
        "client.properties",
        None,
    ]
    assert "(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)" in listed
