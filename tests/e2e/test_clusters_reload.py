"""SIGHUP reads the file of clusters anew, in a real server."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from testkit.serving import Serving
from testkit.synchronized import cluster, eventually, target

if TYPE_CHECKING:
    from pathlib import Path

KEYS = """\
listeners=PLAINTEXT://localhost:0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.http.listener=http://127.0.0.1:0
doorkeeper.clusters.file=clusters.yaml
"""


def test_sighup_reloads_changed_clusters(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(KEYS, encoding="utf-8")
    file = tmp_path / "clusters.yaml"

    def write(*clusters: dict[str, Any]) -> None:
        file.write_text(json.dumps({"clusters": clusters}), encoding="utf-8")

    with target() as one, target() as two, target() as three:
        kept = cluster("kept", one.bootstrap_servers)
        write(kept, cluster("gone", two.bootstrap_servers), cluster("new", "localhost:1"))
        with Serving(tmp_path, "--config", "server.properties") as server:
            url = str(server.line("operations port open")["url"])

            def statuses() -> dict[str, dict[str, Any]]:
                with urlopen(f"{url}/clusters") as answer:
                    return {each["name"]: each for each in json.loads(answer.read())["clusters"]}

            eventually(lambda: statuses()["kept"]["revision"] is not None, statuses)
            since_ms = statuses()["kept"]["since_ms"]

            file.write_text("clusters:\n  - name: kept\n", encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            line = server.line("not reloaded")
            assert "clusters.yaml:2" in line["problem"]
            assert set(statuses()) == {"kept", "gone", "new"}

            write(kept, cluster("new", three.bootstrap_servers, mode="observe"))
            server.process.send_signal(signal.SIGHUP)
            server.line("reloaded")
            eventually(lambda: statuses()["new"]["reads"], statuses)
            found = statuses()
            assert set(found) == {"kept", "new"}
            assert (found["new"]["mode"], found["new"]["failure"]) == ("observe", None)
            assert found["kept"]["since_ms"] == since_ms
