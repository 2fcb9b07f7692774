"""Text for a terminal. Text from plugins, sources and files is shown there and never obeyed."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import IO, Any

# Characters that a terminal obeys, or shows in another order: control characters but for line ends and tabs, separators
# of lines, marks of bidirectional text, and halves of surrogate pairs, which no encoding has.
_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_quiet = ContextVar("quiet", default=False)
_LONGEST = 100  # text that an error message repeats


def visible(text: str) -> str:
    """Return a text with each character that a terminal would obey written as an escape."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def quoted(text: str) -> str:
    """Return a text in quotes, its middle left out if it is long."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}")


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return "did you mean …?" with names that begin like a mistyped one, are similar, or end in it; "" for none."""
    import difflib  # only for a name that was mistyped

    known = [*names]
    begun = [each for each in known if each.startswith(name)]
    ending = [each for each in known if each.endswith(f"_{name}")]
    near = begun[:3] or ending[:3] or difflib.get_close_matches(name.casefold(), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else ""


def all_visible(value: Any) -> Any:
    """Return a JSON value in which every text is :func:`visible`, as others print it as it is."""
    if isinstance(value, dict):
        return {all_visible(name): all_visible(each) for name, each in value.items()}
    if isinstance(value, list):
        return [*map(all_visible, value)]
    return visible(value) if isinstance(value, str) else value


def say(text: str, end: str = "\n") -> None:
    """Write a line to stderr; it is lost where stderr is closed or full."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(visible(text), end=end, file=sys.stderr, flush=True)
        finish(sys.stderr)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Ignore what kernels print, as that of a kernel which is only tried for a hint."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def say_of_kernel(text: str) -> None:
    """Write what a kernel printed to stderr, except in :func:`quiet`."""
    if not _quiet.get():
        say(text, end="")


def finish(stream: IO[str] | None) -> None:
    """Flush a stream; what it cannot write goes nowhere, as Python would complain of it when it exits."""
    if stream is not None:
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):  # it has no descriptor
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
