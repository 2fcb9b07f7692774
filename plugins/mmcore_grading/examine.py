"""The process that runs mmcore's commands on one submission, started by :mod:`mmcore_grading.keeper`.

It reads a request from stdin: the commands, and the workspace, the only folder whose files it may change. It writes one
line of JSON for each command to stdout: its exit status, its document, its message on stderr, and its error's class.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore.cli import main as command_line
from mmcore.errors import MmcoreError, error_to_json
from mmcore.registry import registry
from mmcore_grading.confinement import confine

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/opt/nvidia", "/run/nvidia-persistenced")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/dxg")


def main() -> None:
    """Answer the request on stdin."""
    late = threading.Event()
    signal.signal(signal.SIGXCPU, lambda *_: late.set())  # the keeper's; the worker process ends its kernel
    request = json.load(sys.stdin)
    registry()  # it imports every plugin, whose folders are readable then
    devices = [*_DEVICES, *map(str, Path("/dev").glob("nvidia*"))]
    confined = confine(_readable(), [request["workspace"], *devices])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    print(json.dumps({"confined": confined}), file=answers, flush=True)
    for count, words in enumerate(request["commands"]):
        answer = _answer(words, request["message_bytes"])
        print(json.dumps(answer), file=answers, flush=True)
        if late.is_set() or (count == 0 and answer["status"] == 2):
            break  # what cannot be run, or reaches the time limit, does so in each command
    print(json.dumps("end"), file=answers, flush=True)


def _readable() -> Iterable[str]:
    """Yield the paths that Python and the imported packages read."""
    yield from (*_SYSTEM, sys.prefix, sys.base_prefix, sys.executable)
    yield from filter(None, sys.path)
    yield from os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    yield from (os.environ.get(name, "/nowhere") for name in ("CUDA_HOME", "CUDA_PATH"))
    for module in [*sys.modules.values()]:
        yield from getattr(module, "__path__", ())


def _answer(words: Sequence[str], most: int) -> Mapping[str, Any]:
    """Return the status, document, message and error of a command; the message has at most ``most`` characters."""
    output, errors, error = io.StringIO(), io.StringIO(), ""
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            command_line(list(words))
        except SystemExit as stopped:
            status = stopped.code if isinstance(stopped.code, int) else 2
            if isinstance(stopped.__cause__, MmcoreError):
                error = error_to_json(stopped.__cause__)["error"]
    try:
        document = json.loads(output.getvalue())
    except ValueError:
        document = None
    return {"status": status, "document": document, "message": errors.getvalue()[:most], "error": error}


if __name__ == "__main__":
    main()
