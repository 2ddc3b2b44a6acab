"""How long the console takes to start, and from a key press to the painted answer, with many ACLs.

    python benchmarks/console.py [--quick]

A console of its own process reads a file of 100,000 ACLs (10,000 with --quick); Chromium asks it. A
key press counts until the frame with its answer is drawn: after each key the next one waits for the
answer. "why" is sent with its button, and counts from the click to the first paint of the new page.
Goals: a start of 1 s, 100 ms at the median, 300 ms at p99, pages of 150 kB.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from doorkeeper.acls.formats.csv import row_of

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from acl_questions import everywhere, teams
from start import free_port
from testkit.browser import opened

if TYPE_CHECKING:
    from playwright.async_api import Page

HEAD = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
LINE = (
    "Principal = User:user-{0} is Denied operation = WRITE from host = 10.0.0.7 on resource ="
    " Topic:LITERAL:topic-{1} for request = Produce with resourceRefCount = 1 based on rule"
    " DefaultDeny"
)
WATCH = """
    window.taken = []; let begun = 0;
    addEventListener("keydown", () => { begun = performance.now(); }, true);
    addEventListener("htmx:afterSettle", () => requestAnimationFrame(() => {
        const drawn = new MessageChannel();
        drawn.port1.onmessage = () => window.taken.push(performance.now() - begun);
        drawn.port2.postMessage(0);
    }));
"""
ANSWERED = """
    (number) => new Promise((done) => {
        const look = () => taken.length > number ? done() : setTimeout(look, 5);
        look();
    })
"""
PAINTED = """
    new Promise((done) => new PerformanceObserver((list) => {
        const one = list.getEntriesByName("first-contentful-paint")[0];
        if (one) done(performance.timeOrigin + one.startTime);
    }).observe({type: "paint", buffered: true}))
"""


class Started(NamedTuple):
    """A console, and what it took to its first page and its first answer: clock and CPU."""

    process: subprocess.Popen[bytes]
    url: str
    page_ms: tuple[float, float]
    answer_ms: tuple[float, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer presses, fewer ACLs")
    quick = parser.parse_args().quick
    rounds, acls = (20, 10_000) if quick else (150, 100_000)
    print(f"load {os.getloadavg()[0]:.1f}; {acls} ACLs, {rounds} presses; goals 100 and 300 ms")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "acls.csv"
        rows = [row_of(binding) for binding in teams(acls, everywhere)]
        file.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
        starts = [started(file) for _ in range(5)]
        for one in starts[1:]:
            one.process.terminate()
        for name, all_ms in (("page", "page_ms"), ("answer", "answer_ms")):
            clock, cpu = (median(getattr(one, all_ms)[part] for one in starts) for part in (0, 1))
            print(f"  start to the first {name}: {clock:.0f} ms, {cpu:.0f} ms of CPU")
        try:
            asyncio.run(asked(starts[0].url, rounds))
        finally:
            starts[0].process.terminate()


def started(file: Path) -> Started:
    """Start a console, and wait until it answers."""
    port = free_port()
    url, begun = f"http://localhost:{port}", time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "console", str(file), f"--port={port}"],
        stderr=subprocess.DEVNULL,
    )
    wait_for(f"{url}/", b"What do you want to know?")
    page_ms = (time.perf_counter() - begun) * 1000, cpu_ms(process.pid)
    wait_for(f"{url}/who-can?name=topic-2", b"1 principal may")
    answer_ms = (time.perf_counter() - begun) * 1000, cpu_ms(process.pid)
    return Started(process, url, page_ms, answer_ms)


def cpu_ms(process_id: int) -> float:
    """Return the CPU that a process has used, all its threads together."""
    fields = Path(f"/proc/{process_id}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def wait_for(url: str, text: bytes) -> None:
    """Return when a page has a text."""
    while True:
        try:
            with urlopen(url) as answer:
                if text in answer.read():
                    return
        except URLError:
            pass
        time.sleep(0.005)


async def asked(url: str, rounds: int) -> None:
    """Type and paste, and print how long each answer took, and how large its page is."""
    async with opened() as tab:
        page = tab.page
        shown(url, "who-can", await pressed(page, url, "who-can", "name", "topic-2", rounds))
        why, kept = [], ""
        for number in range(rounds // 3):
            await page.goto(f"{url}/why")
            await page.fill("#f-line", LINE.format(number % 997, number * 7))
            begun = await page.evaluate(
                "() => { const at = performance.timeOrigin + performance.now();"
                " document.querySelector('button.ask').click(); return at; }"
            )
            await page.wait_for_url("**/why?*")
            why.append(await page.evaluate(PAINTED) - begun)
            kept = page.url
        shown(kept, "", why, "why")
        what = await pressed(page, url, "what-can", "principal", "User:user-1", rounds)
        shown(url, "what-can", what)


async def pressed(
    page: Page, url: str, name: str, field: str, text: str, rounds: int
) -> list[float]:
    """Press keys in a field one by one: two digits more, and back."""
    await page.goto(f"{url}/{name}?{urlencode({field: text})}")
    await page.evaluate(f"() => {{ {WATCH} }}")
    await page.locator(f"#f-{field}").focus()
    await page.keyboard.press("End")
    for number in range(rounds):
        key = str(number // 4 % 10) if number % 4 < 2 else "Backspace"
        await page.keyboard.press(key)
        await page.evaluate(ANSWERED, number)
    taken: list[float] = await page.evaluate("window.taken")
    return taken


def shown(url: str, path: str, times: list[float], name: str = "") -> None:
    """Print the times of a page, and its size."""
    fields = {"who-can": {"name": "topic-2"}, "what-can": {"principal": "User:user-1"}}
    page = f"{url}/{path}?{urlencode(fields[path])}" if path else url
    with urlopen(page) as answer:
        size = len(answer.read())
    print(
        f"  {name or path:9} median {median(times):4.0f} ms, p99"
        f" {quantiles(times, n=100, method='inclusive')[98]:4.0f} ms; page {size / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()
