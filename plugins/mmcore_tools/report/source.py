"""The source on a page: beside each line its costs, and below it the messages about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmcore.kernel.declaration import Kernel
from mmcore.view import escaped
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.profiler.counters import Counters, Line

_COLUMNS = {"instr.": "warp_instructions", "sectors": "global_sectors", "conflicts": "shared_bank_conflicts"}
_FIRST = "warp_instructions"


def marked_source(kernel: Kernel, messages: Mapping[int, Sequence[str]], profile: Profile | None) -> str:
    """Return the source as a table, with the counts of a profile and the messages by line."""
    lines = {} if profile is None else {line.number: counts for line, counts in _own(kernel, profile).items()}
    shown = {title: name for title, name in _COLUMNS.items() if any(getattr(each, name) for each in lines.values())}
    most = max((getattr(each, _FIRST) for each in lines.values()), default=0)
    rows = [
        _row(number, text, messages.get(number, ()), lines.get(number), shown, most)
        for number, text in enumerate(kernel.source_text().splitlines(), start=1)
    ]
    heading = "".join(f'<th scope="col" class="{_class(name)}">{escaped(title)}</th>' for title, name in shown.items())
    head = f'<tr>{heading}<th class="number"></th><th class="word">{escaped(kernel.source.name)}</th></tr>'
    return "\n".join([f'<table class="source"><thead>{head}</thead>', "<tbody>", *rows, "</tbody></table>"])


def _own(kernel: Kernel, profile: Profile) -> Mapping[Line, Counters]:
    return {line: counts for line, counts in profile.lines.items() if line.source == kernel.source.name}


def _row(
    number: int, text: str, messages: Sequence[str], counts: Counters | None, shown: Mapping[str, str], most: int
) -> str:
    """Return the row of a line, with its messages; a bar shows its part of the most instructions."""
    cells = ""
    for name in shown.values():
        count = getattr(counts, name) if counts else 0
        bar = ""
        if name == _FIRST and count:
            end = f"{100 * count / most:.0f}%"
            bar = f' style="background:linear-gradient(90deg,var(--heat) {end},transparent {end})"'
        cells += f'<td class="{_class(name)}"{bar}>{f"{count:,}" if count else ""}</td>'
    marked = ' class="marked"' if messages else ""
    said = "".join(f'<div class="said">{escaped(message)}</div>' for message in messages)
    return f'<tr{marked}>{cells}<td class="number">{number}</td><td class="code">{escaped(text)}{said}</td></tr>'


def _class(name: str) -> str:
    return "count" if name == _FIRST else "count more"
