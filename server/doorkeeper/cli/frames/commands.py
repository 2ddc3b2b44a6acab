"""``doorkeeper frames``."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from doorkeeper.cli.completion import files, one_of
from doorkeeper.cli.frames.printing import print_json, print_text
from doorkeeper.cli.terminal import FAILED, fail, say
from doorkeeper.dissector.dissection import declared_apis, version_count
from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.frame_cutter import FRAME_BYTES_MAX
from doorkeeper.dissector.input_formats import FORMATS, format_of, with_head
from doorkeeper.dissector.inputs import (
    ResponseType,
    chunks_of,
    dissect_capture,
    dissect_stream,
)
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

    from doorkeeper.dissector.dissection import Dissection

UNREADABLE = 2
"""The status for an unreadable input, as for wrong usage."""

_APIS = declared_apis()


@click.command(
    name="frames",
    epilog="""
\b
The format is recognized by the first bytes: pcap and pcapng by their magic
numbers; hexadecimal digits, and lines of xxd or hexdump -C, as hex; everything
else is raw. In a capture, responses are matched to their requests. Otherwise
all frames are requests, or with --response responses of one API and version.

\b
Offsets count from the size prefix of a frame. A broken frame is shown up to the
first field that cannot be read, and the reason. SASL tokens, salts, passwords,
token HMACs and values of configurations that hold passwords are not shown.

\b
Exit statuses: 0 all frames are whole; 1 a frame is broken; 2 wrong usage, or
the input cannot be read; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper frames request.bin
  doorkeeper frames --json --port 9092 --port 19092 kafka.pcap
  doorkeeper frames --response DescribeAcls --version 3 response.hex
  xxd response.bin | doorkeeper frames --response DescribeAcls --version 3 -
  tcpdump -i lo -w - port 9092 | doorkeeper frames -
""",
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path), shell_complete=files)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(["auto", *FORMATS]),
    default="auto",
    show_default=True,
    help="The format of FILE; pcap stands for pcapng too.",
)
@click.option(
    "--port",
    "ports",
    multiple=True,
    type=click.IntRange(1, 65535),
    default=[9092],
    show_default=True,
    help="A port of servers in a capture; may be repeated.",
)
@click.option(
    "--response",
    metavar="API",
    shell_complete=one_of(_APIS),
    help="Decode responses of this API, which their bytes do not name.  [default: requests]",
)
@click.option("--version", type=int, help="The version of the API; required with --response.")
@click.option(
    "--max-frame-bytes",
    type=click.IntRange(1, 2**31 - 1),
    default=FRAME_BYTES_MAX,
    show_default=True,
    help="A frame that announces more is broken.",
)
@click.option("--show-secrets", is_flag=True, help="Print passwords and tokens too.")
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format: text, or a JSON object for each frame.",
)
@click.option("--json", "output", flag_value="json", help="The same as --output json.")
def command(
    file: Path,
    *,
    input_format: str,
    ports: tuple[int, ...],
    response: str | None,
    version: int | None,
    max_frame_bytes: int,
    show_secrets: bool,
    output: str,
) -> None:
    """Print the Kafka frames in FILE field by field.

    FILE holds raw bytes, hexadecimal text or a packet capture (pcap, pcapng); - is stdin.
    """
    responses = _response_type(response, version)
    number, broken = 0, False
    show = print_json if output == "json" else print_text
    try:
        with _open(file) as plain:
            head, stream = with_head(plain)
            found = format_of(head) if input_format == "auto" else input_format
            dissections = _dissections(stream, found, head, ports, max_frame_bytes, responses)
            for number, dissection in enumerate(dissections, 1):
                show(number, dissection, show_secrets=show_secrets)
                broken |= dissection.error is not None
    except UnreadableInput as error:
        fail([f"{file}: {error}"], UNREADABLE)
    # An empty capture is more likely a wrong --port than a connection without requests.
    if not number:
        where = f" of connections to port {' or '.join(map(str, ports))}" if found == "pcap" else ""
        say(f"{file}: no frames{where}")
    if broken:
        raise SystemExit(FAILED)


def _dissections(
    stream: BinaryIO,
    found: str,
    head: bytes,
    ports: tuple[int, ...],
    max_frame_bytes: int,
    responses: ResponseType | None,
) -> Iterator[Dissection]:
    if found != "pcap":
        return dissect_stream(chunks_of(stream, found, head), max_frame_bytes, responses)
    if responses is not None:
        raise click.UsageError("--response is not for captures, which have the requests")
    return dissect_capture(stream, frozenset(ports), max_frame_bytes)


def _response_type(api: str | None, version: int | None) -> ResponseType | None:
    """Return the API and version of the responses; None for requests.

    Raises:
        click.UsageError: one option without the other, no such API, or no such version.

    """
    if api is None and version is None:
        return None
    if api is None or version is None:
        raise click.UsageError("--response and --version need each other")
    by_name = {name.lower(): (key, name) for key, name in API_NAMES.items() if name in _APIS}
    by_name |= {str(key): (key, name) for key, name in by_name.values()}
    # A name in any case, or the API key, as it is in logs and captures.
    if api.lower() not in by_name:
        raise click.BadParameter(f"{api!r} is none of {', '.join(_APIS)}", param_hint="--response")
    key, name = by_name[api.lower()]
    # Of the declared messages: newer versions than the server answers are decoded too.
    count = version_count(name)
    if not 0 <= version < count:
        reason = f"{version}; {name} has the versions 0 to {count - 1}"
        raise click.BadParameter(reason, param_hint="--version")
    return ResponseType(key, version)


@contextmanager
def _open(file: Path) -> Iterator[BufferedIOBase]:
    """Give the bytes of a file, or of stdin.

    Raises:
        UnreadableInput: the file cannot be opened.

    """
    if str(file) == "-":
        yield cast("BufferedIOBase", sys.stdin.buffer)
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise UnreadableInput(error.strerror) from None
    with stream:
        yield stream
