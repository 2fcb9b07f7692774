"""The configuration of the site, which ``tox -e site`` builds from the pages of this folder."""

from __future__ import annotations

import os
import re
import runpy
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version as version_of
from pathlib import Path

from pygments.lexers.shell import BashLexer
from sphinx.application import Sphinx

project = "mmcore"
author = "the authors of mmcore"
copyright = f"2026, {author}"
release = version = version_of("mmcore-cuda")
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"mmcore {release}"
# The anchors of GitHub, so that a link to a heading works in the repository too.
myst_heading_anchors = 4
html_copy_source = False
# The versions that the workflow builds side by side; a site alone lists none.
html_context = {"versions": os.environ.get("MMCORE_DOCS_VERSIONS", "").split()}
templates_path = ["_templates"]
_SIDEBAR = "brand search scroll-start navigation"
html_sidebars = {
    "**": [*(f"sidebar/{part}.html" for part in _SIDEBAR.split()), "versions.html", "sidebar/scroll-end.html"]
}

_DOCS = Path(__file__).parent
_LINK_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]*)(?:#[^)]*)?\)")
_GROUP = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def setup(app: Sphinx) -> None:
    """Adapt the pages, which are written to be read in the repository too."""
    app.add_lexer("sbatch", BashLexer)
    app.add_lexer("crontab", BashLexer)
    app.connect("source-read", _adapt)
    app.connect("builder-inited", _begin_gallery)


def _adapt(app: Sphinx, page: str, source: list[str]) -> None:
    """Resolve the links out of this folder; the lists of the first page become the navigation."""
    if page == "changelog":
        source[0] = (_DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    source[0] = _LINK_OUTSIDE.sub(_inside, source[0])
    if page == "index":
        source[0] += "".join(_toctree(*group) for group in _GROUP.findall(source[0]))


def _begin_gallery(app: Sphinx) -> None:
    """Write the reports of the gallery, which its page links to, while the pages are read."""
    if app.builder.name == "html":
        write_all = runpy.run_path(str(_DOCS / "gallery.py"))["write_all"]
        written = ThreadPoolExecutor(1).submit(write_all, Path(app.outdir) / "gallery")
        app.connect("build-finished", lambda app, failed: written.result())


def _inside(link: re.Match[str]) -> str:
    """Return a link out of this folder as the site has it: a page, a file to download, or the text alone."""
    text, target = link.groups()
    if page := {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}.get(target):
        return f"[{text}]({page})"
    if target.endswith(".md"):  # MyST takes a link to such a file for a page
        return f"{{download}}`{text} <../{target}>`"
    return link[0] if (_DOCS.parent / target).is_file() else text


def _toctree(heading: str, text: str) -> str:
    """Return the part of the navigation with the pages that a group of the first page lists."""
    pages = "\n".join(re.findall(r"^- \[[^\]]*\]\(([\w-]+)\.md\)", text, re.MULTILINE))
    return f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n" if pages else ""
