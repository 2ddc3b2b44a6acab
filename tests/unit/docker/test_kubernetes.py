"""deploy/kubernetes: its files fit together, and give away no more than docker/compose.yaml does.

`make check` holds them against the schemas of Kubernetes.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from doorkeeper.server.app.config_check import check_configuration
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = sorted(
    file
    for file in FOLDER.rglob("*.yaml")
    if file.name not in ("kustomization.yaml", "secret.template.yaml")
)
RESOURCES: list[dict[str, Any]] = [
    each for file in FILES for each in yaml.safe_load_all(file.read_text())
]
WORKLOADS = [each for each in RESOURCES if each["kind"] in ("StatefulSet", "Job")]


def named(kind: str, name: str) -> dict[str, Any]:
    [found] = [
        each for each in RESOURCES if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return found


def pod_of(workload: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each["metadata"]["name"])
def test_pods_are_restricted(workload: dict[str, Any]) -> None:
    """The restricted Pod Security Standard, a read-only root, limits, and no moving tag."""
    pod = pod_of(workload)
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    allowed = {"name", "configMap", "secret", "emptyDir"}
    assert {key for volume in pod["volumes"] for key in volume} <= allowed
    for kind in ("requests", "limits"):
        assert container["resources"][kind].keys() == {"cpu", "memory"}
    _, _, tag = container["image"].rpartition(":")
    assert re.match(r"\d", tag)


def test_referenced_volumes_services_and_secrets_exist() -> None:
    claimed = {
        claim["metadata"]["name"]
        for each in WORKLOADS
        for claim in each["spec"].get("volumeClaimTemplates", ())
    }
    for each in WORKLOADS:
        pod = pod_of(each)
        declared = {volume["name"] for volume in pod["volumes"]} | claimed
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} <= declared
        for volume in pod["volumes"]:
            if "configMap" in volume:
                named("ConfigMap", volume["configMap"]["name"])
    selected = [each["spec"]["template"]["metadata"]["labels"] for each in WORKLOADS]
    for each in RESOURCES:
        spec = each.get("spec", {})
        selector = {"Service": "selector", "NetworkPolicy": "podSelector"}.get(each["kind"])
        if selector is not None:
            labels = spec[selector].get("matchLabels", spec[selector])
            assert labels in selected, each["metadata"]["name"]
    assert named("PodDisruptionBudget", "doorkeeper")["spec"]["selector"]["matchLabels"] in selected
    named("Service", named("StatefulSet", "doorkeeper")["spec"]["serviceName"])


def test_manifests_are_in_one_namespace_and_a_kustomization() -> None:
    for file in FILES:
        kustomization = yaml.safe_load((file.parent / "kustomization.yaml").read_text())
        assert file.name in kustomization["resources"]
    for each in RESOURCES:
        if each["kind"] != "Namespace":
            assert (
                each["metadata"]["namespace"]
                == named("Namespace", "doorkeeper")["metadata"]["name"]
            )


def test_node_can_start_with_mounted_files(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    script = ROOT / "docker" / "make-secrets"
    subprocess.run([script, secrets], check=True, capture_output=True)
    for here, made in (
        ("keystore.pem", "node-1.keystore.pem"),
        ("node.pem", "node-1.pem"),
        ("node.key", "node-1.key"),
    ):
        (secrets / made).rename(secrets / here)
    text = named("ConfigMap", "doorkeeper")["data"]["server.properties"]
    mounted = "/run/secrets/doorkeeper"
    named_files = set(re.findall(rf"{mounted}/([\w.-]+)", text))
    file = tmp_path / "server.properties"
    file.write_text(text.replace(mounted, str(secrets)))
    # In a container it may be readable by all.
    (secrets / "ops.token").chmod(0o600)
    [container] = pod_of(named("StatefulSet", "doorkeeper"))["containers"]
    values = {"NODE_ID": "1", "POD_NAME": "doorkeeper-1", "NAMESPACE": "doorkeeper"}
    assert {each["name"] for each in container["env"]} == values.keys()
    words = [
        re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], each) for each in container["args"]
    ]
    overrides = [value for word, value in itertools.pairwise(words) if word == "--override"]

    loaded = check_configuration(file, overrides)

    assert words[:3] == ["serve", "--config", "/etc/doorkeeper/server.properties"]
    assert loaded.warnings == ()
    assert loaded.settings.node_id == 1
    template = yaml.safe_load((FOLDER / "secret.template.yaml").read_text())
    assert template["stringData"].keys() == named_files
    assert set(template["stringData"].values()) == {""}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert loaded.settings.http is not None
    assert ports == {
        "kafka": loaded.settings.listeners[0].port,
        "operations": loaded.settings.http.port,
    }


def test_probes_and_grace_period_match_the_server() -> None:
    pod = pod_of(named("StatefulSet", "doorkeeper"))
    [container] = pod["containers"]
    asked = {
        kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")
    }
    assert {kind: each["path"] for kind, each in asked.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {(each["port"], each["scheme"]) for each in asked.values()} == {("operations", "HTTPS")}
    paused_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain_s = 10
    assert pod["terminationGracePeriodSeconds"] >= paused_s + drain_s + 5
