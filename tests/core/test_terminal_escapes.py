"""Escape sequences in text from files and plugins must not reach a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmcore.cli.output import fields, rendered
from mmcore.messages import all_visible, quoted, visible
from mmcore_cuda.tuned_configs.files import all_tuned
from mmcore_pytest.saved_results import damage
from tests.command_line import install, kernel_module, mmcore, python_path
from tests.kernel_sources import kernel_source
from tests.made_up_results import MACHINE, benchmark

# A title of the window, a colour, a C1 sequence, text in another order, and a character that no encoding has.
EVIL = "\x1b]0;owned\x07 \x1b[31mred \x9b31m \u202ebackwards \u2066 \u061c \u2028 \x7f"
OBEYED = ("\x1b]0", "\x1b[31mred", "\x07", "\x9b", "\u202e", "\u2066", "\u061c", "\u2028", "\x7f")


def evil(place: str) -> str:
    """Return a text that sets the title of a terminal to the name of its place."""
    return EVIL.replace("owned", place)


def test_what_a_terminal_would_obey_is_written_out() -> None:
    shown = visible(EVIL)
    assert not any(sign in shown for sign in OBEYED)
    assert "\\x1b]0;owned\\x07" in shown
    assert visible("\udcff a\n\tb × ³ é 中, \r \a \x85") == "\\udcff a\n\tb × ³ é 中, \\r \\x07 \\x85"
    assert rendered("\x85", terminal=False) == "\\x85"
    assert "\\x85" in rendered(fields([("title", "\x85")]), terminal=False)
    assert all_visible({"\x1b": ["\x1b", 1, None, {"a": "\x1b"}]}) == {"\\x1b": ["\\x1b", 1, None, {"a": "\\x1b"}]}
    assert len(quoted("9" * 5000)) < 200


PLUGINS = {
    "import": f"raise ImportError({evil('import')!r})",
    "hint": f"def mmcore_hints(result): return [{evil('hint')!r}]",
    "raised_hint": f"def mmcore_hints(result): raise ValueError({evil('raised_hint')!r})",
    "figures": f"def mmcore_figures(kernel, device): raise ValueError({evil('figures')!r})",
    "options": f"def mmcore_file_options(): raise ValueError({evil('options')!r})",
    "devices": f"def mmcore_devices(): raise ValueError({evil('devices')!r})",
    "tuning": f"def mmcore_tuning(): raise ValueError({evil('tuning')!r})",
    "name": f"def mmcore_commands(): return {{{evil('name')!r}: 'lost:lost'}}",
    "module": f"def mmcore_commands(): return {{'lost': {evil('module')!r} + ':lost'}}",
    "sweep": f"""def mmcore_commands(): return {{'sweep': 'acme_sweep_module:sweep'}}
import click
@click.command(help={evil("help")!r})
def sweep(): raise ValueError({evil("exception")!r})
""",
    "fast": kernel_module("acme.fast").replace("Kernel(name", f"Kernel(title={evil('title')!r}, name"),
    "rule": kernel_module("acme.rule", f"raise ValueError({evil('rule')!r})"),
    "answer": kernel_module("acme.answer", f"return {evil('answer')!r}"),
}
SOURCE = f"k{evil('file').replace('/', '')}.cu"
HISTORY = evil("folder").replace("/", "")
SMALL = ("--size", "8", "--block", "8", "--device", "emulator")
BENCH = ("pytest", "-p", "no:cacheprovider", "--mm-size=8", "--mm-block=8", "--mm-device=emulator", "-s")
ONE = (*BENCH, "--mm-kernel=upc.kernel01")
# Command lines, and the places whose texts each shows.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "list-kernels": (("list-kernels", "acme"), "title import"),
    "run": (("run", "acme.fast", "--device", "emulator"), "title"),
    "show": (("show", "acme.fast"), "title"),
    "doctor": (("doctor",), "import"),
    "run with hooks": (("run", "upc.kernel11", *SMALL), "hint raised_hint figures options"),
    "help": (("--help",), "name module help"),
    "help of a command": (("sweep", "--help"), "help"),
    "a lost module": (("lost",), "module"),
    "an exception": (("sweep",), "exception"),
    "a file": (("run", SOURCE, *SMALL), "file printed"),
    "lines of a source": (("profile", SOURCE, *SMALL[:4], "--source"), "file"),
    "a history": (("bench-history", HISTORY, "--all"), "folder"),
    "a figure": (("plot", f"{HISTORY}/0001_run.json", "-o", f"{HISTORY}/figure.svg"), "folder"),
    "a typed command": ((evil("typed"),), "typed"),
    "a typed kernel": (("run", evil("typed")), "typed"),
    "a typed option": (("run", "upc.kernel11", f"--{evil('typed')}"), "typed"),
    "a typed value": (("run", "upc.kernel11", "--size", evil("typed")), "typed"),
    "a typed file": (("plot", evil("typed"), "-o", "x.svg"), "typed"),
    "pytest": (ONE, "import figures devices"),
    "failing tests": ((*BENCH, "--mm-kernel=acme.rule,acme.answer"), "rule answer"),
}


def saved_results(change: Callable[[dict[str, Any]], object]) -> str:
    saved: dict[str, Any] = {
        "machine_info": {"mmcore": dict(MACHINE), "node": "host"},
        "datetime": "2001-02-03T04:05:06+00:00",
        "benchmarks": [benchmark("upc.kernel11", 640, 16), benchmark("upc.kernel10", 640, 16)],
    }
    change(saved)
    return json.dumps(saved)


RESULTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "kernel": lambda saved: saved["benchmarks"][0]["extra_info"].update(kernel=EVIL),
    "measure": lambda saved: saved["benchmarks"][0]["extra_info"].update(measure=EVIL),
    "config": lambda saved: saved["benchmarks"][0]["extra_info"].update(config_id=EVIL),
    "card": lambda saved: saved["machine_info"]["mmcore"].update(name=EVIL),
    "date": lambda saved: saved.update(datetime=EVIL),
    "host": lambda saved: saved["machine_info"].update(node=EVIL),
}
for place in RESULTS:
    path = f"{place}/0001_run.json"
    history, figure = ("bench-history", place, "--all"), ("plot", path, "-o", f"{place}/figure.svg")
    COMMANDS[f"history with an evil {place}"] = history, "owned" if place == "date" else ""
    COMMANDS[f"figure with an evil {place}"] = figure, "owned" if place == "card" else ""


def compared_results(change: Callable[[dict[str, Any]], object]) -> str:
    """Return results for ``--benchmark-compare`` that are damaged by a change."""
    numbers = dict.fromkeys(("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops"), 1.0)
    test = {"name": "test_speed", "fullname": "test_speed.py::test_speed", "group": "g", "param": None, "params": None}
    made = {**test, "options": {}, "stats": {**numbers, "outliers": "0;0"}}
    saved: dict[str, Any] = {"machine_info": {"mmcore": {"name": "emulator"}}, "benchmarks": [made]}
    change(saved)
    assert isinstance(damage(saved), str)
    return json.dumps(saved)


def rename(saved: dict[str, Any]) -> None:
    (benchmark,) = saved["benchmarks"]
    benchmark.update(name=EVIL, fullname=EVIL, group=EVIL)
    benchmark["stats"].update(outliers=EVIL)


COMPARED: dict[str, Callable[[dict[str, Any]], object]] = {
    "names": rename,
    "no-numbers": lambda saved: saved["benchmarks"][0].update(fullname=EVIL, stats={}),
    "device": lambda saved: saved["machine_info"]["mmcore"].update(name=EVIL),
    "machine": lambda saved: saved.update(machine_info={EVIL: EVIL}),
}
for change in COMPARED:
    comparison = (*ONE, f"--benchmark-compare={change}.json", "--benchmark-verbose")
    COMMANDS[f"comparison with evil {change}"] = comparison, "owned" if change in ("device", "machine") else ""

# Runs every command in one process, and pytest in the same one.
PROGRAM = """
import json, sys
import pytest
from mmcore.cli import main
for words in json.loads(sys.stdin.readline()):
    print("the next command", flush=True)
    try:
        pytest.main(words[1:]) if words[:1] == ["pytest"] else main(words)
    except SystemExit:
        pass
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the plugins, which contains the working directory of the commands."""
    site = tmp_path_factory.mktemp("site")
    for name, text in PLUGINS.items():
        hook = f"from mmcore import hookimpl\n@hookimpl\n{text}" if text.startswith("def") else text
        install(site, f"acme-{name}", f"acme.{name}", hook)
        (site / f"acme_{name}_module.cu").write_text(f"// {EVIL}\n__global__ void f(float *A, float *B, float *C) {{}}")
    folder = site / "here"
    for place, change in {"": lambda saved: None, **RESULTS}.items():
        path = folder / (place or HISTORY) / "0001_run.json"
        path.parent.mkdir(parents=True)
        path.write_text(saved_results(change))
    for name, change in COMPARED.items():
        (folder / f"{name}.json").write_text(compared_results(change))
    printing = 'if (i + j == 0) printf("\\033]0;printed\\007");'
    (folder / SOURCE).write_text(kernel_source("multiply").replace("= sum;", f"= sum;\n    {printing}"))
    (folder / "test_speed.py").write_text("def test_speed(mm_benchmark): mm_benchmark()\n")
    return site


@pytest.fixture(scope="module")
def on_terminal(site: Path) -> Mapping[str, str]:
    """Return the output of each command on a terminal."""
    environment = {**os.environ, "PYTHONPATH": python_path(site), "TERM": "xterm", "COLUMNS": "80"}
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=site / "here", env=environment, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    assert process.stdin is not None
    process.stdin.write(json.dumps([words for words, _ in COMMANDS.values()]).encode() + b"\n")
    process.stdin.close()
    pieces = []
    try:
        while piece := os.read(master, 1 << 16):
            pieces.append(piece)
    except OSError:  # Linux reports that the other side has closed
        pass
    assert process.wait() == 0
    os.close(master)
    _, *outputs = b"".join(pieces).decode(errors="backslashreplace").split("the next command")
    return dict(zip(COMMANDS, outputs, strict=True))


def assert_visible(output: str, *places: str) -> None:
    """Assert that a text has no control sequences, and shows the texts of these places."""
    assert not [sign for sign in OBEYED if sign in output], output
    assert "Traceback" not in output
    for place in places:
        assert f"\\x1b]0;{place}" in "".join(output.split()), output


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_shows_is_visible(
    command: str, site: Path, on_terminal: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words, places = COMMANDS[command]
    assert_visible(on_terminal[command], *places.split())
    assert command != "pytest" or "1 passed" in on_terminal[command]
    if words[0] != "pytest":
        monkeypatch.chdir(site / "here")
        assert_visible(mmcore(*words, site=site).output, *places.split())


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"schema": EVIL}),
        json.dumps({"schema": 1, "card": EVIL, "tuned": [{EVIL: 3}]}),
        json.dumps({"schema": 1, "card": "x", "tuned": [{"kernel": EVIL, "m": 0}]}),
        EVIL,
    ],
)
def test_what_a_tuning_file_says_is_visible(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MMCORE_TUNING_DIR", str(tmp_path))
    (tmp_path / f"{EVIL.replace('/', '')}.json").write_text(content)
    all_tuned()
    assert_visible(capsys.readouterr().err, "owned")
