"""The distributions: what is in them, and what the pages say about installing them.

``make wheel`` builds them, compares builds, and tries the wheel.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from doorkeeper.base.version import __version__
from doorkeeper.cli.sample_files import EXAMPLES
from testkit.checkout import ROOT, name_of, tracked_files

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

ADDRESS = "https://host.example/owner/name"
INSTALLATION = re.compile(r"pip install [^`\n]*\bdoorkeeper\b(?!-)")
WHEEL = re.compile(r"doorkeeper-([\w.]+)-py3-none-any\.whl")
README = """# Title
```mermaid
flowchart LR
```
[page](docs/page.md#part), [part](#part), [Kafka](https://kafka.apache.org)
![image](docs/image.png)
"""


def installation_texts() -> list[tuple[str, str]]:
    """Return name and text of the pages and examples, without the changelog."""
    files = [path for path in tracked_files() if "changelog" not in name_of(path).lower()]
    pages = [
        path for path in files if path.suffix == ".md" or name_of(path).startswith("examples/")
    ]
    return [(name_of(path), path.read_text(encoding="utf-8")) for path in pages]


def script(name: str) -> ModuleType:
    """Import a script, which is in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def metadata() -> ModuleType:
    return script("release_metadata")


def test_readme_gets_absolute_links(metadata: ModuleType) -> None:
    """Of a tag of the repository; diagrams, which an index does not draw, are left out."""
    text = metadata.with_absolute_links(README, ADDRESS, "v1")

    assert text == (
        f"# Title\n[page]({ADDRESS}/blob/v1/docs/page.md#part), [part](#part), "
        f"[Kafka](https://kafka.apache.org)\n![image]({ADDRESS}/raw/v1/docs/image.png)\n"
    )


def test_readme_has_no_dead_links_without_an_address(metadata: ModuleType) -> None:
    """What would lead nowhere becomes plain text; images are left out."""
    text = metadata.with_absolute_links(README, "", "v1")

    assert text == "# Title\npage, [part](#part), [Kafka](https://kafka.apache.org)\n\n"
    assert metadata.project_urls("", "v1") == {}


def test_repository_address_must_be_https(
    metadata: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOORKEEPER_REPOSITORY", "git@host.example:owner/name")
    hook: Any = metadata.ReleaseMetadata(str(ROOT), {})

    with pytest.raises(ValueError, match=r"git@host\.example:owner/name: not an address like"):
        hook.update({"version": "1"})


def test_every_example_is_part_of_the_wheel() -> None:
    """The list of the build names what ``doorkeeper examples`` copies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    included = wheel["only-include"]
    paths = [path for example in EXAMPLES.values() for path in example.paths]

    missing = [
        path for path in paths if not any(f"{path}/".startswith(f"{each}/") for each in included)
    ]

    assert missing == []
    assert set(wheel["packages"]) <= set(included)
    assert [each for each in included if not (ROOT / each).exists()] == []


def test_install_commands_use_a_checkout_or_wheel() -> None:
    found = [
        (name, each) for name, text in installation_texts() for each in INSTALLATION.findall(text)
    ]

    assert found == []


def test_pages_name_the_wheel_of_this_version() -> None:
    """A new version changes the pages too."""
    named = {
        (name, version)
        for name, text in installation_texts()
        for version in WHEEL.findall(text)
        if version != __version__
    }

    assert named == set()


def test_public_ci_is_read_only_and_pinned() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text(encoding="utf-8"))
    uses = {
        step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step
    }

    assert workflow["permissions"] == {"contents": "read"}
    assert not [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert [each for each in uses if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each)] == []


def test_fragments_move_into_the_changelog(tmp_path: Path) -> None:
    """By kind, above the last release, and below what an earlier call has put there."""
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nAll.\n\n## 0.1.0\n\n### Fixed\n- Old.\n")
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    (folder / "README.md").write_text("# Fragments\n")
    for name, text in (("b.fixed", "Two\nlines."), ("a.added", "[A](../docs/a.md).")):
        (folder / f"{name}.md").write_text(f"{text}\n")
        script("changelog").main(tmp_path, write=True)

    assert (tmp_path / "CHANGELOG.md").read_text("utf-8") == (
        "# Changelog\n\nAll.\n\n## Unreleased\n\n### Added\n- [A](docs/a.md).\n\n"
        "### Fixed\n- Two\n  lines.\n\n## 0.1.0\n\n### Fixed\n- Old.\n"
    )
    assert [path.name for path in folder.iterdir()] == ["README.md"]


def test_every_fragment_has_a_kind() -> None:
    """Names that the changelog's command refuses are found before a release."""
    assert script("changelog").fragments(ROOT / "changelog.d") is not None


def test_changelog_has_this_version() -> None:
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
