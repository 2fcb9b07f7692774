"""Names of source files in PTX and machine code, where escapes stand for bytes beyond ASCII."""

from __future__ import annotations

import re

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:\\.|[^"\\\n])*)"', re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_CONTROL = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"/": b"\\"}
_SPLIT = re.compile(r"(\\[0-7]{3})/(?=[0-7]{3})")


def files_of(ptx: str) -> list[tuple[str, str]]:
    """Return the number and the path of each file that a PTX text names."""
    return [(number, without_escapes(path)) for number, path in _FILE.findall(ptx)]


def without_escapes(path: str) -> str:
    r"""Return a path in which escapes such as ``\303\274`` are the characters that they stand for.

    ptxas takes the last backslash for the end of a folder, and writes ``/`` in its place in machine code.
    """
    try:
        return _decoded(path).decode()
    except UnicodeDecodeError:
        return _decoded(_SPLIT.sub(r"\1\\", path)).decode(errors="replace")


def _decoded(path: str) -> bytes:
    """Return the bytes of a path with escapes."""
    return _ESCAPE.sub(
        lambda escape: bytes([int(escape[1], 8) & 255]) if len(escape[1]) == 3 else _CONTROL.get(escape[1], escape[1]),
        path.encode(errors="surrogateescape"),
    )
