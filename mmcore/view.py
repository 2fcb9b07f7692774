"""The HTML of a verdict in a notebook: a table of facts, and the source with a message below each line at fault."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.messages import visible
from mmcore.registry import registry

_AROUND = 8  # lines before and after a line at fault that are shown
# Notebooks are dark or light: the text's own colour, or one that both show.
_CELL = "text-align:left;vertical-align:top;padding:0 1em 0 0;white-space:pre-wrap"
_CODE = "font-family:monospace;white-space:pre-wrap;margin:.5em 0"
_LINE = "padding-left:.5em;border-left:3px solid"
_COLOURS = {True: "#2a2", False: "#d33", None: "#b80"}


@dataclass(frozen=True)
class View:
    """A verdict on a kernel, which a notebook shows as HTML.

    Attributes:
        verdict: the answer, such as "TEST PASS".
        right: whether it is a good one; None if it is neither good nor bad.
        title: the kernel, or an error.
        facts: names and values; a fact without a value is skipped.
        messages: faults, warnings and hints; one that names a line of the source is shown below it.
        file: the name of the kernel's source, as messages write it.
        text: the source; "" if there is none to show.
    """

    verdict: str
    right: bool | None
    title: str
    facts: Sequence[tuple[str, str]] = ()
    messages: Sequence[str] = ()
    file: str = ""
    text: str = ""

    def _repr_html_(self) -> str:
        colour = _COLOURS[self.right]
        parts = [f'<div><b style="color:{colour}">{escaped(self.verdict)}</b> {escaped(self.title)}</div>']
        rows = (
            f'<tr><th style="{_CELL}">{escaped(name)}</th><td style="{_CELL}">{escaped(value)}</td></tr>'
            for name, value in self.facts
            if value
        )
        table = "".join(rows)
        parts += [f"<table>{table}</table>"] if table else []
        by_line = self.by_line
        marked = [number for number in by_line if number]
        parts += [f'<div style="{_CODE}">{"".join(self._source(by_line))}</div>'] if marked else []
        parts += [f'<div style="white-space:pre-wrap">{escaped(text)}</div>' for text in by_line.get(0, ())]
        return f"<div>{''.join(parts)}</div>"

    @property
    def by_line(self) -> Mapping[int, list[str]]:
        """The messages by the line of the source that they name, each once; those of no line are at 0."""
        named = re.compile(rf"(?:(?<![\w.-]){re.escape(self.file)}[:(]|^(?:warning: )?line )(\d+)")
        several: dict[int, list[str]] = {}
        for message in dict.fromkeys(self.messages):
            found = named.search(message) if self.file else None
            number = int(found[1]) if found else 0
            several.setdefault(number if number <= len(self.text.splitlines()) else 0, []).append(message)
        return several

    def _source(self, by_line: Mapping[int, list[str]]) -> Iterator[str]:
        """Yield the lines at fault with their messages, and the lines around them; ⋮ marks a gap."""
        plain, mark = f"{_LINE} transparent", f"{_LINE} {_COLOURS[False if self.right is False else None]}"
        lines, last = self.text.splitlines(), 0
        width = len(str(len(lines)))
        for number, line in enumerate(lines, 1):
            if not any(at and abs(number - at) <= _AROUND for at in by_line):
                continue
            if number > last + 1:
                yield f'<div style="{plain};opacity:.6">{"⋮".rjust(width)}</div>'
            last = number
            messages = by_line.get(number, ())
            shown = f'<span style="opacity:.6">{number:>{width}}</span>  {escaped(line)}'
            yield f'<div style="{mark if messages else plain}">{f"<b>{shown}</b>" if messages else shown}</div>'
            for message in messages:
                yield f'<div style="{mark}"><div style="margin-left:{width + 2}ch">{escaped(message)}</div></div>'


def escaped(text: str) -> str:
    """Return a text as HTML, with control characters written as escapes."""
    return html.escape(visible(text))


def source_of(name: str) -> tuple[str, str]:
    """Return the name and the text of a registered or a file's kernel's source; empty if there is none."""
    file, registered = registry().files.get(name), registry().kernels.get(name)
    kernel: Kernel | None = file.kernel if file else registered.item if registered else None
    if kernel is not None:
        with contextlib.suppress(MmcoreError):
            return kernel.source.name, kernel.source_text()
    return "", ""
