"""The pages of the site: the first one lists the others, and one has the help of every command."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from mmcore.devices.violations import Violation
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.kernel_choice import Choice
from mmcore.verdict import Findings

DOCS = Path(__file__).parents[2] / "docs"


def test_the_first_page_lists_every_other_page_once() -> None:
    listed = re.findall(r"^- \[[^\]]*\]\(([\w-]+)\.md\): ", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted(page.stem for page in DOCS.glob("*.md"))


def test_the_page_of_the_command_line_is_the_commands_help() -> None:
    page = runpy.run_path(str(DOCS / "command_line.py"))["page"]()
    assert page == (DOCS / "command-line.md").read_text("utf-8"), "python docs/command_line.py writes the page"


def test_the_page_of_the_hooks_has_every_hook_and_every_field_of_an_answer() -> None:
    generator = runpy.run_path(str(DOCS / "hooks.py"))
    page = (DOCS / "hooks.md").read_text("utf-8")
    assert generator["page"]() == page, "python docs/hooks.py writes the page"
    declared = re.findall(r"@hookspec[^\n]*\ndef (\w+)", "".join(each.read_text("utf-8") for each in _sources()))
    assert sorted(re.findall(r"^## (mmcore_\w+)", page, re.MULTILINE)) == sorted(declared)
    for kind in (Choice, Findings, Violation, DeviceProperties):
        section = page.partition(f"### {kind.__name__}\n")[2].partition("\n#")[0]
        named = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
        explained = re.findall(r"\w+", " ".join(named))
        assert sorted(explained) == sorted(field.name for field in fields(kind))


def test_the_page_of_the_hooks_explains_each_type_in_a_signature() -> None:
    page = (DOCS / "hooks.md").read_text("utf-8")
    elsewhere = {"Kernel", "None", "Any", "Callable", "Iterable", "Mapping", "Path", "Option"}
    signatures = "\n".join(re.findall(r"^def mmcore_.*", page, re.MULTILINE))
    named = set(re.findall(r"\b[A-Z]\w+", signatures)) - elsewhere
    explained = set(re.findall(r"^### (\w+)\n\n`mmcore", page, re.MULTILINE))
    assert named | {"Cell", "Check", "Violation"} <= explained
    assert {"Plan", "CompiledModule", "CompiledFunction"} <= explained, "the attributes of a LoadedKernel"


def _sources() -> Iterator[Path]:
    return (path for folder in ("mmcore", "plugins") for path in (DOCS.parent / folder).rglob("*.py"))


def test_a_reader_has_no_more_than_30000_words_written_by_hand() -> None:
    """Tables made from results, code, outputs and the commands' help are not counted."""
    pages = [DOCS.parent / "README.md", *(page for page in DOCS.glob("*.md") if page.name != "command-line.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    generated = r"<!-- ([^>]*?): begin -->.*?<!-- \1: end -->|^```.*?^```$"
    assert len(re.findall(r"\S*\w\S*", re.sub(generated, "", text, flags=re.DOTALL | re.MULTILINE))) <= 30_000
