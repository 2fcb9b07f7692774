"""The documentation shows the output that the program prints."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.studies.tables.main import TABLES, with_tables
from mmcore import Kernel
from mmcore.cli import main
from mmcore.registry import DISTRIBUTION, registry
from mmcore_tools.experiments.preset import presets

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
KERNELS = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "plugin-reference.md").read_text(encoding="utf-8")
_SHOWN = "kernels your-file python-files wrapping why slow-kernels lectures emulator proof"
SHOWN = [f"{name}.md" for name in _SHOWN.split()]
PAGES = README + "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in SHOWN)
EXAMPLES = re.findall(r"^```console\n\$ mmcore ([^\n]*)\n(.*?)^```", PAGES, re.MULTILINE | re.DOTALL)
# The .cu and .py files that the pages show: a comment in the first line has the file's name.
FILES = dict(re.findall(r"^```\w+\n(?=(?://|#) (\w+\.(?:cu|py))\n)(.*?)^```", PAGES, re.MULTILINE | re.DOTALL))
# What changes from one release of the compiler to the next: registers, instructions, and which loads become one.
# Predicted times change with the measurements that they are fitted to.
CHANGING = re.compile(
    r"(?<=^registers     ) *\d+|^(?:instructions of|shared load|predicted|limited by)\b.*$|(?<=^  \d\d) +[\d,]+",
    re.MULTILINE,
)

# Pages with paths of a package that the reader creates, or of former versions.
TOLD = ("plugins.md", "CHANGELOG.md")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param(
            command, shown, id=command, marks=pytest.mark.slow if re.search(r"size 64[01]|^run ring", command) else ()
        )
        for command, shown in EXAMPLES
    ],
)
def test_the_pages_show_what_the_command_prints(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    printed = CliRunner().invoke(main, shlex.split(command)).output
    assert CHANGING.sub("N", printed) == CHANGING.sub("N", shown)


def test_the_pages_show_every_kind_of_answer() -> None:
    shown = "".join(output for _, output in EXAMPLES)
    assert {"TEST PASS", "TEST FAIL", "Error: "} <= set(re.findall(r"TEST PASS|TEST FAIL|Error: ", shown))


def test_the_readmes_two_commands_name_environments_that_exist() -> None:
    named = re.findall(r"python -m pip install tox && python -m tox run -e (\w+)$", README, re.MULTILINE)
    declared = re.findall(r"^\[testenv:\{?([\w,]+)\}?\]$", (ROOT / "tox.ini").read_text(), re.MULTILINE)
    assert named == ["bench", "test"]
    assert set(named) <= set(",".join(declared).split(","))


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_are_made_from_the_committed_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert with_tables(page, text) == text


def test_a_table_that_was_changed_by_hand_is_noticed() -> None:
    changed = KERNELS.replace("| poznan.v5 | 16 |", "| poznan.v5 | 61 |")
    assert changed != KERNELS
    assert with_tables("docs/kernels.md", changed) == KERNELS


def test_the_page_of_kernels_lists_every_kernel() -> None:
    ours = {name for name, each in registry().kernels.items() if each.origin.distribution == DISTRIBUTION}
    named = re.findall(r"`(\w+\.[\w.*]+)`", KERNELS)
    assert not [name for name in ours if not any(fnmatch.fnmatch(name, each) for each in named)]


def test_the_experiments_page_lists_every_preset() -> None:
    table, _, _ = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8").partition("\n## ")
    ours = {name for name, each in presets(registry()).items() if each.origin.distribution == DISTRIBUTION}
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == ours


def test_the_plugin_reference_says_what_each_of_a_kernels_fields_is() -> None:
    _, _, section = REFERENCE.partition("\n## What a kernel declares\n")
    rows = re.findall(r"^\| `(.+?)` \|", section.partition("\n## ")[0], re.MULTILINE)
    assert [name for row in rows for name in row.split("`, `")] == [field.name for field in dataclasses.fields(Kernel)]


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda page: page.name
)
def test_every_link_and_every_path_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", text):
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"
    for path_named in re.findall(r"`((?:mmcore|plugins|bench|tests)/[a-z0-9_/.-]+)`", text):
        assert (ROOT / path_named).exists() or page.name in TOLD, path_named


def anchors(page: Path) -> list[str]:
    """Return GitHub's names of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
