"""The keeper ends a command that exceeds its limits, with all that it started; Landlock keeps files from it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mmcore_grading import keeper

LIMITS = {"seconds": 20, "wall_seconds": 100, "memory_bytes": 512 << 20, "processes": 12, "file_bytes": 1 << 20}
FORKS = "import os, time\nfor _ in range(50):\n    if os.fork() == 0:\n        time.sleep(30)\ntime.sleep(30)"
DETACHED = "import os, time\nif not os.fork():\n    os.setsid()\n    os.fork() or time.sleep(300)\n    os._exit(0)"
SHARED = (
    "import os, time\nfor _ in range(4): os.fork() or [bytearray(b'x') * (300 << 20), time.sleep(30)]\ntime.sleep(30)"
)
CONFINED = (
    "import sys\nfrom mmcore_grading.confinement import confine\n"
    "sys.exit(3) if not confine(['/usr', sys.prefix], [sys.argv[1]]) else None\n"
)


def kept(script: str, tmp_path: Path, *words: str, **limits: float) -> tuple[str, bytes]:
    """Run a Python script under the keeper; return the reason why it was ended, and its output."""
    output = tmp_path / "output"
    with output.open("wb") as file:
        command = [sys.executable, "-c", script, *words]
        task = json.dumps([{**LIMITS, **limits}, command])
        keeping = [sys.executable, "-I", "-S", keeper.__file__, task, str(file.fileno())]
        done = subprocess.run(keeping, pass_fds=[file.fileno()], stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout.decode().strip(), output.read_bytes()


@pytest.mark.parametrize(
    ("script", "limits", "reason"),
    [
        (
            "import time; time.sleep(60)",
            {"wall_seconds": 1},
            "it took more than 1 seconds, 20 times limits.seconds of the task",
        ),
        ("print('fine')", {}, ""),
        (
            "while True: pass",
            {"seconds": 1},
            "it took more than 1 seconds of processor time; limits.seconds of the task sets the limit",
        ),
        (FORKS, {}, "it started more than 12 processes; limits.processes of the task sets the limit"),
        ("data = bytearray(10 << 30)", {}, ""),  # refused by the system: a MemoryError
        (SHARED, {}, "it used more than 512 MB; limits.memory_mb of the task sets the limit"),
        ("print('x' * (10 << 20))", {}, ""),  # a file of at most a MiB
    ],
)
def test_a_command_ends_at_its_limits(script: str, limits: dict[str, float], reason: str, tmp_path: Path) -> None:
    ended, output = kept(script, tmp_path, **limits)
    assert ended == reason
    assert len(output) <= LIMITS["file_bytes"]


def test_a_signal_that_is_ignored_ends_no_command(tmp_path: Path) -> None:
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        ended, output = kept("import os; os.kill(os.getppid(), 1); print('fine')", tmp_path)
    finally:
        signal.signal(signal.SIGHUP, usual)
    assert (ended, output) == ("", b"fine\n")


def test_no_process_is_left(tmp_path: Path) -> None:
    name = f"left-{time.time_ns()}"
    kept(DETACHED, tmp_path, name)
    lines = [path.joinpath("cmdline") for path in Path("/proc").iterdir() if path.name.isdigit()]
    assert not [line for line in lines if line.exists() and name.encode() in line.read_bytes()]


@pytest.mark.parametrize("action", ["open(sys.argv[2]).read()", "open(sys.argv[2], 'a').write('more')"])
def test_files_outside_the_workspace_are_out_of_reach(action: str, tmp_path: Path) -> None:
    secret, workspace = tmp_path / "hidden.toml", tmp_path / "workspace"
    secret.write_text("sizes")
    workspace.mkdir()
    script = f"{CONFINED}try:\n    {action}\nexcept PermissionError:\n    print('refused')"
    environment = {**os.environ, "PYTHONPATH": ""}
    words = [sys.executable, "-c", script, str(workspace), str(secret)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if done.returncode == 3:
        pytest.skip("this kernel has no Landlock")
    assert done.stdout == "refused\n", done.stderr
    assert secret.read_text() == "sizes"
