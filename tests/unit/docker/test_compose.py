"""The stack of docker/: its files are there, fit together, and give away no more than they must."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from doorkeeper.console.login.exposure import exposure_of
from doorkeeper.server.app.config_check import check_configuration
from doorkeeper.server.security.password_records import parse as parse_record
from testkit.checkout import ROOT
from testkit.consoles import options as console_options
from testkit.kafka_jars import Unavailable, cannot
from testkit.postgres_image import made_database

DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = ("node-1", "node-2")


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what docker/make-secrets makes."""
    folder = tmp_path_factory.mktemp("secrets")
    make_secrets(folder)
    return folder


def make_secrets(folder: Path, path: str | None = None) -> str:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here")
    done = subprocess.run(
        [str(DOCKER / "make-secrets"), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | ({} if path is None else {"PATH": path}),
    )
    return done.stdout + done.stderr


def path_without(folder: Path, *, kdf: bool = True, python: bool = True) -> str:
    """Return a PATH on which openssl has no ``kdf``, as LibreSSL, or python3 fails."""
    tools = ("sh", "dirname", "mkdir", "chmod", "cat", "rm", "mv", "wc", "grep", "sed", "rmdir")
    folder.mkdir()
    for tool in (*tools, *(["openssl"] if kdf else []), *(["python3"] if python else [])):
        found = sys.executable if tool == "python3" else shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    if not kdf:
        script = f'#!/bin/sh\n[ "$1" = kdf ] && exit 1\nexec {shutil.which("openssl")} "$@"\n'
        (folder / "openssl").write_text(script)
        (folder / "openssl").chmod(0o755)
    return str(folder)


def may_log_in(folder: Path) -> bool:
    """Say whether the first user of the console has the password beside it."""
    name, _, text = (folder / "console.users").read_text().splitlines()[0].partition(":")
    password = (folder / "console.password").read_text().strip()
    return name == "admin" and parse_record(text).matches(password.encode())


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """Let both shake hands; return what the server knows of the client.

    Raises:
        ssl.SSLError: the client rejects the server's certificate.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    for side in (theirs, ours, theirs, ours):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return dict(ours.getpeercert() or {})


def mounts(service: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = (volume.split(":") for volume in service.get("volumes", ()))
    return [(source, target) for source, target, *_ in pairs]


def test_all_mounted_files_exist() -> None:
    for name, service in SERVICES.items():
        for source, _ in mounts(service):
            known = (DOCKER / source).exists() if source[0] == "." else source in COMPOSE["volumes"]
            assert known, f"{name}: {source}"
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys()
        assert set(service["networks"]) <= COMPOSE["networks"].keys()
        assert set(service.get("depends_on", ())) <= SERVICES.keys()


def test_each_secret_is_generated_by_the_script(secrets: Path) -> None:
    files = {Path(each["file"]) for each in COMPOSE["secrets"].values()}
    used = {name for service in SERVICES.values() for name in service.get("secrets", ())}

    assert {file.parent for file in files} == {Path("secrets")}
    assert [file.name for file in files if not (secrets / file.name).stat().st_size] == []
    assert used == COMPOSE["secrets"].keys()
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|TOKEN|SECRET|KEY", name) is not None
            assert not secret or str(value).startswith("/run/secrets/"), name


def test_every_container_is_hardened() -> None:
    """A read-only root, no capabilities, no new privileges, a user that is not root, a probe."""
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].partition(":")[0]) > 0, name
        assert "privileged" not in service
        assert name in NODES or service["healthcheck"]["test"][0] == "CMD"


def test_only_loopback_ports_are_published() -> None:
    for service in SERVICES.values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")
    assert "ports" not in SERVICES["postgres"]
    assert SERVICES["postgres"]["networks"] == ["store"]
    assert COMPOSE["networks"]["store"] == {"internal": True}


@pytest.mark.parametrize("node", NODES)
def test_node_configurations_are_valid(node: str, secrets: Path, tmp_path: Path) -> None:
    text = (DOCKER / f"{node}.properties").read_text()
    named = set(re.findall(r"/run/secrets/([\w.-]+)", text))
    file = tmp_path / "server.properties"
    file.write_text(text.replace("/run/secrets/", f"{secrets}/"))
    # In a container it may be readable by all.
    (secrets / "ops.token").chmod(0o600)

    loaded = check_configuration(file, [])

    assert loaded.warnings == ()
    assert named == set(SERVICES[node]["secrets"])
    settings = loaded.settings
    assert settings.node_id == int(node[-1])
    assert settings.http is not None
    assert (settings.http.port, settings.http.is_encrypted, settings.http.has_login) == (
        9404,
        True,
        True,
    )
    outside = next(each for each in settings.listeners if each.name == "OUTSIDE")
    assert SERVICES[node]["ports"] == [f"127.0.0.1:{outside.port}:{outside.port}"]
    mounted = {target: source for source, target in mounts(SERVICES[node])}
    assert mounted["/etc/doorkeeper/server.properties"] == f"./{node}.properties"


def test_the_console_starts_with_its_secrets(secrets: Path) -> None:
    """Certificate, key and users fit: other machines reach it with TLS and a login."""
    service = SERVICES["console"]
    words = [word.replace("/run/secrets/", f"{secrets}/") for word in service["command"][1:]]

    exposure = exposure_of(console_options(*words))

    assert service["command"][0] == "console"
    assert exposure.tls is not None
    assert exposure.has_login
    assert service["ports"] == [f"127.0.0.1:{exposure.port}:{exposure.port}"]
    assert may_log_in(secrets)
    assert len((secrets / "console.users").read_text().splitlines()) == 1


@pytest.mark.parametrize("without", ["kdf", "python"])
def test_the_console_has_a_password_with_any_openssl(without: str, tmp_path: Path) -> None:
    """LibreSSL and OpenSSL 1.1 have no kdf; python3 may be missing, or a stub that fails."""
    make_secrets(tmp_path / "secrets", path_without(tmp_path / "bin", **{without: False}))

    assert may_log_in(tmp_path / "secrets")


def test_a_password_that_cannot_be_hashed_is_an_error(tmp_path: Path) -> None:
    """What is needed is named; nothing that a later run would keep is left."""
    path = path_without(tmp_path / "bin", kdf=False, python=False)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        make_secrets(tmp_path / "secrets", path)

    assert "python3 or OpenSSL 3 is needed" in failed.value.stderr
    assert not (tmp_path / "secrets" / "console.users").exists()
    make_secrets(tmp_path / "secrets")
    assert may_log_in(tmp_path / "secrets")


def test_an_admin_without_a_hash_is_replaced(tmp_path: Path) -> None:
    """A file that an earlier version broke; its other users stay."""
    other = "vera:$pbkdf2-sha256$600000$AAAAAAAAAAAAAAAAAAAAAA$" + "A" * 43
    broken = "admin:$pbkdf2-sha256$600000$AAAAAAAAAAAAAAAAAAAAAA$"
    (tmp_path / "console.users").write_text(f"{broken}\n{other}\n")
    make_secrets(tmp_path)

    assert may_log_in(tmp_path)
    assert (tmp_path / "console.users").read_text().splitlines()[1:] == [other]


def test_database_accepts_only_tls(secrets: Path) -> None:
    command = SERVICES["postgres"]["command"]
    rules = (DOCKER / "postgres" / "pg_hba.conf").read_text().splitlines()

    assert "ssl=on" in command
    assert {each.split()[0] for each in rules if each and each[0] != "#"} == {"local", "hostssl"}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secrets / "postgres.pem", secrets / "postgres.key")
    client = ssl.create_default_context(cafile=str(secrets / "ca.pem"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    assert handshake(context, client, "postgres") == {}


def test_existing_secrets_are_kept(tmp_path: Path) -> None:
    first = make_secrets(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    second = make_secrets(tmp_path)

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600
    for name in (
        "ops.token",
        "postgres.password",
        "postgres-superuser.password",
        "grafana.password",
    ):
        secret = before[name].decode().strip()
        assert len(secret) == 48
        assert secret not in first + second


def test_prometheus_configuration_is_complete() -> None:
    config = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yaml").read_text())
    (job,) = config["scrape_configs"]
    files = [job["authorization"]["credentials_file"], job["tls_config"]["ca_file"]]

    assert job["scheme"] == "https"
    assert job["static_configs"] == [{"targets": [f"{node}:9404" for node in NODES]}]
    assert {Path(file).name for file in files} == set(SERVICES["prometheus"]["secrets"])
    for rules in config["rule_files"]:
        (group,) = yaml.safe_load((DOCKER / "prometheus" / rules).read_text())["groups"]
        for rule in group["rules"]:
            assert rule["annotations"]["summary"]
            assert rule["labels"]["severity"] in ("page", "ticket")


def test_grafana_provisioning_is_complete() -> None:
    """The provider's folder is mounted, and the source has the name that panels use."""
    folder = DOCKER / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards" / "doorkeeper.yaml").read_text())[
        "providers"
    ]
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())[
        "datasources"
    ]
    targets = {target: path for path, target in mounts(SERVICES["grafana"])}

    assert (DOCKER / targets[provider["options"]["path"]] / "doorkeeper.json").exists()
    assert source["uid"] == "prometheus"
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/doorkeeper.json"


def test_dockerfile_copies_existing_files() -> None:
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    let_in = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE)
        for source in line.split()[:-1]
    ]

    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(Path(source).match(pattern) for pattern in let_in), source


def test_image_runs_without_root_and_shell() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    final = text.rpartition("\nFROM ")[2]

    assert text.count("--require-hashes") == 2
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert "\nRUN " not in final
    for instruction in ("ENTRYPOINT", "CMD"):
        assert re.search(rf"^\s*{instruction} \[", final, re.MULTILINE)
    assert "HEALTHCHECK" in final
    assert SERVICES["node-1"]["user"] == "10001:10001"


@pytest.mark.interop
def test_image_can_create_the_database(secrets: Path) -> None:
    """Its script asks over the socket with the password; the nodes' role owns their database.

    Source: ``docker_init_database_dir`` to ``docker_setup_db`` in docker-entrypoint.sh.
    """
    given = SERVICES["postgres"]["environment"]
    try:
        owner = made_database(
            user=given["POSTGRES_USER"],
            password=(secrets / "postgres-superuser.password").read_text().strip(),
            initdb=given["POSTGRES_INITDB_ARGS"],
            script=(DOCKER / "postgres" / "10-doorkeeper.sql").read_text(),
            secret=(secrets / "postgres.password").read_text(),
            hba=(DOCKER / "postgres" / "pg_hba.conf").read_text(),
        )
    except Unavailable as missing:
        cannot(str(missing))

    assert owner == "doorkeeper|f"
