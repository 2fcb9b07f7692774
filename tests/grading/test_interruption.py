"""An interrupted ``mmcore grade`` stores no incomplete answers, and the next command completes the grades."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.grading.made_up_class import NAIVE, TILED, write_class
from tests.grading.test_grade import COMMAND, RUBRIC, SIZES


def _heed_interruptions() -> None:
    """Undo what a shell does for commands in the background, which ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "receiver", "status"),
    [
        (signal.SIGINT, "group", 130),
        (signal.SIGTERM, "command", -15),
        (signal.SIGKILL, "command", -9),
        (signal.SIGTERM, "keeper", 2),
    ],
)
def test_an_interrupted_submission_is_graded_by_the_next_command(
    number: int, receiver: str, status: int, tmp_path: Path
) -> None:
    submitted, report, task = tmp_path / "submitted", tmp_path / "report", tmp_path / "task.toml"
    slow = SIZES.replace('"32"', '"32", "320", "384"')  # seconds, in which the signal comes
    task.write_text(f'title = "x"\n{slow}{RUBRIC}[[rubric]]\ncriterion = "shown-sizes"\npoints = 4\n')
    submitted.mkdir()
    (submitted / "right.cu").write_text(TILED)
    (submitted / "link.cu").symlink_to(submitted / "right.cu")
    command = [*COMMAND, *map(str, (task, submitted, "-o", report))]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_heed_interruptions
    )
    keepers = list[int]()
    while not keepers or not (report / "answers" / "link.json").exists():
        assert process.poll() is None
        time.sleep(0.1)
        children = Path(f"/proc/{process.pid}/task").glob("*/children")
        keepers = [int(child) for path in children for child in path.read_text().split()]
    time.sleep(0.5)
    os.kill({"group": -process.pid, "command": process.pid, "keeper": keepers[0]}[receiver], number)
    _, said = process.communicate(timeout=60)

    assert process.returncode == status
    assert not (report / "answers" / "right.json").exists()
    assert ("interrupted: 1 of 2 submissions are graded; the same command continues" in said) == (receiver == "group")
    assert ("not graded: link, right; " in said) == (receiver == "keeper")
    assert subprocess.run(command, check=False, timeout=100).returncode == 2
    points = {each["student"]: each["points"] for each in json.loads((report / "grades.json").read_text())["grades"]}
    assert points == {"right": 5, "link": None}


@pytest.mark.slow
def test_a_killed_grading_resumes_with_the_same_result(tmp_path: Path) -> None:
    task, submitted = write_class(tmp_path, 1, NAIVE, seconds=20)
    for path in submitted.iterdir():
        if not path.stem.startswith(("right", "wrong_short", "wrong_trans", "binary")):
            path.unlink()
    for count in range(20):
        process = subprocess.Popen([*COMMAND, task, submitted, "-o", tmp_path / "killed", "-q"])
        time.sleep(1 + count / 4)
        process.kill()
        process.wait()
    for name in ("killed", "whole"):
        subprocess.run([*COMMAND, task, submitted, "-o", tmp_path / name, "-q"], check=True, timeout=600)
    first, second = ((tmp_path / name / "grades.csv").read_text() for name in ("killed", "whole"))
    assert first == second
