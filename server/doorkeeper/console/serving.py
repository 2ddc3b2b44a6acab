"""The process of the console: sets in the background, an HTTP server on the loopback interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import uvicorn

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.terminal import say
from doorkeeper.console.app import Console
from doorkeeper.console.guard import hosts_at
from doorkeeper.console.page import Settings
from doorkeeper.console.sets import Sets


def serve(locations: Sequence[Location], options: dict[str, Any], port: int) -> None:
    """Serve until a signal ends it."""
    sets = Sets(locations)
    sets.start()
    console = Console(sets, settings_of(options))
    config = uvicorn.Config(
        console.app(hosts_at(port)),
        host="localhost",
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
    )
    say(f"the console is at http://localhost:{port}; Ctrl-C stops it")
    try:
        uvicorn.Server(config).run()
    finally:
        console.close()


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the options that commands of the console take too, as their words."""
    words = [f"--super-user={user}" for user in options["super_users"]]
    if options["allow_everyone"] is not None:
        words.append("--allow-everyone" if options["allow_everyone"] else "--no-allow-everyone")
    if options["release"] is not None:
        words.append(f"--kafka={options['release']}")
    if options["file"] is not None:
        words.append(f"--config={options['file']}")
    return Settings(
        policy_words=tuple(words),
        command_config=options["command_config"],
        rules=options["rules"],
        advice=options["advice"],
        findings=options["findings"],
    )
