"""The pages of the site: the first one lists the others, and one has the help of every command."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_first_page_lists_every_other_page_once() -> None:
    listed = re.findall(r"^- \[[^\]]*\]\(([\w-]+)\.md\): ", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted(page.stem for page in DOCS.glob("*.md"))


def test_the_page_of_the_command_line_is_the_commands_help() -> None:
    page = runpy.run_path(str(DOCS / "command_line.py"))["page"]()
    assert page == (DOCS / "command-line.md").read_text("utf-8"), "python docs/command_line.py writes the page"


def test_a_reader_has_no_more_than_30000_words_written_by_hand() -> None:
    """Tables made from results, code, outputs and the commands' help are not counted."""
    pages = [DOCS.parent / "README.md", *(page for page in DOCS.glob("*.md") if page.name != "command-line.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    generated = r"<!-- ([^>]*?): begin -->.*?<!-- \1: end -->|^```.*?^```$"
    assert len(re.findall(r"\S*\w\S*", re.sub(generated, "", text, flags=re.DOTALL | re.MULTILINE))) <= 30_000
