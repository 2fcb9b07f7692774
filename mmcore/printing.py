"""What plugins print is no part of a command's output: a script that reads stdout gets mmcore's words only."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

_STDOUT, _STDERR = 1, 2
# There is one standard output, however many threads ask plugins for something.
_LEADING = threading.RLock()


@contextlib.contextmanager
def to_stderr() -> Iterator[None]:
    """Lead to stderr what is printed inside: through ``sys.stdout``, and past it to the process's standard output."""
    with _LEADING, contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as undo:
        # A process whose streams are closed has nothing to mix up.
        with contextlib.suppress(OSError):
            kept = os.dup(_STDOUT)
            undo.callback(os.close, kept)
            os.dup2(_STDERR, _STDOUT)
            undo.callback(os.dup2, kept, _STDOUT)
        yield
