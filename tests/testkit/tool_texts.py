"""What Kafka's tools are told to ask two servers, and what they say, so that it can be compared."""

import re
from pathlib import Path

from testkit.accepted import CONNECTION, DESCRIPTION
from testkit.kafka_target import USERS
from testkit.kafka_tools import Done
from testkit.side_by_side import Side

ADDRESS = re.compile(r"localhost(/127\.0\.0\.1)?:\d+")

TRACE = re.compile(r"^\s+(at |\.\.\. \d+ more).*$", re.MULTILINE)


def where(side: Side, who: str, folder: Path) -> list[str]:
    """Return the options that name a server and a user."""
    target = side.target
    open_ = ["--bootstrap-server", target.plain]
    controller = ["--bootstrap-controller", target.controller]
    named = {
        "-": open_,
        "controller": controller,
        "swapped-server": ["--bootstrap-server", target.controller],
        "swapped-controller": ["--bootstrap-controller", target.plain],
        "both": [*open_, *controller],
        "neither": [],
    }
    if who in named:
        return named[who]
    if who == "impatient":
        file = folder / "impatient.properties"
        file.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n")
        return [*open_, "--command-config", str(file)]
    file = folder / f"{target.name}-{who}.properties"
    config = target.config(who, USERS.get(who, "unknown"))
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    return ["--bootstrap-server", target.sasl, "--command-config", str(file)]


def said(done: Done, folder: Path) -> tuple[int, list[list[str]], list[list[str]]]:
    """Return status and texts without addresses; the lines below a heading are a set."""

    def plain(text: str) -> list[list[str]]:
        text = DESCRIPTION.sub("Request(...)", CONNECTION.sub("<connection>", text))
        text = ADDRESS.sub("<address>", text).replace(str(folder), "<folder>")
        text = re.sub(r"adminclient-\d+", "adminclient", text)
        text = re.sub(r"(kafka|doorkeeper)-(\w+)\.properties", r"\2.properties", text)
        blocks: list[list[str]] = []
        for line in filter(str.strip, TRACE.sub("", text).splitlines()):
            if not blocks or not line[0].isspace():
                blocks.append([])
            blocks[-1].append(line.strip())
        return sorted([block[0], *sorted(block[1:])] for block in blocks)

    return done.status, plain(done.stdout), plain(done.stderr)
