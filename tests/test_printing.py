"""A script that reads a command's output gets mmcore's words and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mmcore import Dim3, Kernel, Problem
from mmcore.printing import to_stderr
from tests.wrong_kernels import kernel


class Talkative:
    """A constraint that always holds, and says so."""

    sentence = "nothing in particular"

    def refusal(self, problem: Problem, block: Dim3) -> None:
        print("of course")
        os.write(1, b"by all means")


def test_both_ways_of_printing_lead_to_stderr_and_back(capfd: pytest.CaptureFixture[str]) -> None:
    with to_stderr():
        print("one", flush=True)
        os.write(1, b"two")
        with to_stderr():
            os.write(1, b"three")
        os.write(1, b"four")
    os.write(1, b"five")
    print("six")
    assert capfd.readouterr() == ("fivesix\n", "one\ntwothreefour")


def test_an_error_inside_leaves_stdout_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), to_stderr():
        raise ZeroDivisionError
    os.write(1, b"still here")
    assert capfd.readouterr().out == "still here"


def test_threads_do_not_lose_stdout_to_each_other(capfd: pytest.CaptureFixture[str]) -> None:
    def quietly(number: int) -> None:
        with to_stderr():
            os.write(1, b"no")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(quietly, range(400)))
    print("yes", flush=True)
    os.write(1, b"yes")
    assert capfd.readouterr().out == "yes\nyes"


def test_closed_streams_do_not_matter() -> None:
    script = "from mmcore.printing import to_stderr\nwith to_stderr():\n    pass\nraise SystemExit(7)"
    shell = f'exec "{sys.executable}" -c "$SCRIPT" >&- 2>&-'
    assert subprocess.run(["sh", "-c", shell], env=os.environ | {"SCRIPT": script}, check=False).returncode == 7


def test_what_a_constraint_prints_does_not_reach_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talkative: Kernel = kernel(tmp_path, constraints=(Talkative(),))
    assert talkative.refusals(talkative.problem(4, 4, 4), Dim3(16, 8)) == []
    assert capfd.readouterr() == ("", "of course\nby all means")
