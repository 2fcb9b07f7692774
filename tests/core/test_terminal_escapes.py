"""Escape sequences in text from files and plugins must not reach a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmcore.cli.output import fields, rendered
from mmcore.messages import all_visible, quoted, visible
from mmcore_pytest.saved_results import damage
from tests.command_line import install, kernel_module, mmcore
from tests.kernel_sources import kernel_source
from tests.made_up_results import MACHINE, benchmark

# A title of the window, a colour, a C1 sequence, text in another order, and a character that no encoding has.
EVIL = "\x1b]0;owned\x07 \x1b[31mred \x9b31m \u202ebackwards \u2066 \u061c \u2028 \x7f"
SMALL = ("--size", "8", "--block", "8", "--device", "emulator")
OBEYED = ("\x1b]0", "\x1b[31mred", "\x07", "\x9b", "\u202e", "\u2066", "\u061c", "\u2028", "\x7f")
KERNEL = kernel_source("multiply").replace("= sum;", '= sum;\n    if (i + j == 0) printf("EVIL");')


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


def test_what_a_terminal_would_obey_is_written_out() -> None:
    shown = visible(EVIL)
    assert not any(sign in shown for sign in OBEYED)
    assert "\\x1b]0;owned\\x07" in shown
    assert visible("\udcff a\n\tb × ³ é 中, \r \a \x85") == "\\udcff a\n\tb × ³ é 中, \\r \\x07 \\x85"
    assert rendered("\x85", terminal=False) == "\\x85"
    assert "\\x85" in rendered(fields([("title", "\x85")]), terminal=False)
    assert all_visible({"\x1b": ["\x1b", 1, None, {"a": "\x1b"}]}) == {"\\x1b": ["\\x1b", 1, None, {"a": "\\x1b"}]}
    assert len(quoted("9" * 5000)) < 200


def printed(*arguments: str, module: str = "mmcore", site: Path | None = None) -> str:
    """Return the output of a command on a terminal, and of mmcore's commands to pipes too."""
    command = [sys.executable, "-m", module, *arguments]
    path = os.pathsep.join([*([str(site)] if site else []), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "80"}
    master, terminal = pty.openpty()
    process = subprocess.Popen(command, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    pieces = []
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # Linux's way to say that the other side has closed
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait()
    os.close(master)
    written = b"".join(pieces).decode(errors="backslashreplace")
    written += mmcore(*arguments, site=site).output if module == "mmcore" else ""
    assert "Traceback" not in written
    return written


def shows(text: str, begin: str = "\\x1b]0;owned") -> bool:
    """Return whether a text shows the planted words and has no control sequence."""
    assert not [sign for sign in OBEYED if sign in text], text
    return begin in "".join(text.split())


PLANTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "a title": ("", ("list-kernels", "acme")),
    "a title in a run": ("", ("run", "acme.fast", "--device", "emulator")),
    "a title in show": ("", ("show", "acme.fast")),
    "an import": (f"raise ImportError({EVIL!r})", ("list-kernels", "upc")),
    "an import in doctor": (f"raise ImportError({EVIL!r})", ("doctor",)),
    "a hint": (f"def mmcore_hints(result): return [{EVIL!r}]", ("run", "upc.kernel11", *SMALL)),
    "a hint that raises": (f"def mmcore_hints(result): raise ValueError({EVIL!r})", ("run", "upc.kernel11", *SMALL)),
    "figures": (f"def mmcore_figures(kernel, device): raise ValueError({EVIL!r})", ("run", "upc.kernel11", *SMALL)),
    "file options": (f"def mmcore_file_options(): raise ValueError({EVIL!r})", ("run", "upc.kernel11", *SMALL)),
    "a name": (f"def mmcore_commands(): return {{{EVIL!r}: 'lost:lost'}}", ("--help",)),
    "a module": (f"def mmcore_commands(): return {{'sweep': {EVIL!r} + ':lost'}}", ("sweep",)),
    "help": ("def mmcore_commands(): return {'sweep': 'acme_module:sweep'}", ("sweep", "--help")),
    "a list": ("def mmcore_commands(): return {'sweep': 'acme_module:sweep'}", ("--help",)),
    "an exception": ("def mmcore_commands(): return {'sweep': 'acme_module:sweep'}", ("sweep",)),
}
SWEEP = f"""
import click
@click.command(help={EVIL!r})
def sweep(): raise ValueError({EVIL!r})
"""


@pytest.mark.parametrize("planted", PLANTED)
def test_what_a_plugin_says_is_shown(planted: str, tmp_path: Path) -> None:
    hook, arguments = PLANTED[planted]
    if hook.startswith("def"):
        hook = f"from mmcore import hookimpl\n@hookimpl\n{hook}\n{SWEEP}"
    kernel = kernel_module("acme.fast").replace("Kernel(name", f"Kernel(title={EVIL!r}, name")
    install(tmp_path, "acme", "acme.fast", hook or kernel)
    (tmp_path / "acme_module.cu").write_text(f"// {EVIL}\n__global__ void f(float *A, float *B, float *C) {{}}")
    assert shows(printed(*arguments, site=tmp_path))


def test_what_a_kernel_prints_and_its_file_says_is_shown() -> None:
    name = f"k{EVIL.replace('/', '')}.cu"
    Path(name).write_text(KERNEL.replace("EVIL", "\\033]0;owned\\007"))
    sizes = ("--size", "8", "--block", "8")
    assert shows(printed("run", name, *sizes, "--device", "emulator"))
    assert shows(printed("profile", name, *sizes, "--source"))


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"schema": EVIL}),
        json.dumps({"schema": 1, "card": EVIL, "tuned": [{EVIL: 3}]}),
        json.dumps({"schema": 1, "card": "x", "tuned": [{"kernel": EVIL, "m": 0}]}),
        EVIL,
    ],
)
def test_what_a_tuning_file_says_is_shown(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mmcore_cuda.tuned_configs.files import all_tuned

    monkeypatch.setenv("MMCORE_TUNING_DIR", str(tmp_path))
    (tmp_path / f"{EVIL.replace('/', '')}.json").write_text(content)
    all_tuned()
    assert shows(capsys.readouterr().err)


RESULTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "kernel": lambda saved: saved["benchmarks"][0]["extra_info"].update(kernel=EVIL),
    "measure": lambda saved: saved["benchmarks"][0]["extra_info"].update(measure=EVIL),
    "config": lambda saved: saved["benchmarks"][0]["extra_info"].update(config_id=EVIL),
    "card": lambda saved: saved["machine_info"]["mmcore"].update(name=EVIL),
    "date": lambda saved: saved.update(datetime=EVIL),
    "a host": lambda saved: saved["machine_info"].update(node=EVIL),
}


@pytest.mark.parametrize("place", RESULTS)
def test_what_saved_results_say_is_shown(place: str) -> None:
    saved: dict[str, Any] = {
        "machine_info": {"mmcore": dict(MACHINE), "node": "host"},
        "datetime": "2001-02-03T04:05:06+00:00",
        "benchmarks": [benchmark("upc.kernel11", 640, 16), benchmark("upc.kernel10", 640, 16)],
    }
    RESULTS[place](saved)
    folder = Path(EVIL.replace("/", ""))
    folder.mkdir()
    path = folder / "0001_run.json"
    path.write_text(json.dumps(saved))
    assert shows(printed("bench-history", str(folder), "--all"))
    assert shows(printed("plot", str(path), "-o", str(folder / "figure.svg")))


@pytest.mark.parametrize("argument", ["command", "kernel", "option", "value", "file"])
def test_what_is_typed_is_shown(argument: str) -> None:
    typed = {
        "command": (EVIL,),
        "kernel": ("run", EVIL),
        "option": ("run", "upc.kernel11", f"--{EVIL}"),
        "value": ("run", "upc.kernel11", "--size", EVIL),
        "file": ("plot", EVIL, "-o", "x.svg"),
    }[argument]
    assert shows(printed(*typed))


BENCH = "def test_speed(mm_benchmark): mm_benchmark()"
OPTIONS = ("--mm-kernel=upc.kernel01", "--mm-size=8", "--mm-block=8", "--mm-device=emulator")
NUMBERS = dict.fromkeys(("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops"), 1.0)


def compared(change: Callable[[dict[str, Any]], object]) -> None:
    """Save results for ``--benchmark-compare=old.json``."""
    saved: dict[str, Any] = {
        "machine_info": {"mmcore": {"name": "emulator"}},
        "benchmarks": [
            {
                "name": "test_speed",
                "fullname": "test_speed.py::test_speed",
                "group": "g",
                "param": None,
                "params": None,
                "options": {},
                "stats": {**NUMBERS, "outliers": "0;0"},
            }
        ],
    }
    change(saved)
    assert isinstance(damage(saved), str)
    Path("old.json").write_text(json.dumps(saved))


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: (
            saved["benchmarks"][0].update(name=EVIL, fullname=EVIL, group=EVIL),
            saved["benchmarks"][0]["stats"].update(outliers=EVIL),
        ),
        lambda saved: saved["benchmarks"][0].update(fullname=EVIL, stats={}),
        lambda saved: saved["machine_info"]["mmcore"].update(name=EVIL),
        lambda saved: saved.update(machine_info={EVIL: EVIL}),
    ],
    ids=["names", "no numbers", "device", "machine"],
)
def test_what_results_that_are_compared_with_say_is_shown(change: Callable[[dict[str, Any]], object]) -> None:
    Path("test_speed.py").write_text(BENCH)
    compared(change)
    options = (*OPTIONS, "--benchmark-compare=old.json", "--benchmark-verbose")
    shows(printed("-p", "no:cacheprovider", *options, module="pytest"))


@pytest.mark.parametrize(
    "hook",
    [
        f"raise ImportError({EVIL!r})",
        f"def mmcore_figures(kernel, device): raise ValueError({EVIL!r})",
        f"def mmcore_devices(): raise ValueError({EVIL!r})",
        f"def mmcore_tuning(): raise ValueError({EVIL!r})",
    ],
)
def test_what_a_plugin_says_is_shown_by_pytest(hook: str, tmp_path: Path) -> None:
    Path("test_speed.py").write_text(BENCH)
    if hook.startswith("def"):
        hook = f"from mmcore import hookimpl\n@hookimpl\n{hook}"
    install(tmp_path, "acme", "acme.fast", hook)
    written = printed("-p", "no:cacheprovider", "-s", *OPTIONS, module="pytest", site=tmp_path)
    assert shows(written) or "mmcore_tuning" in hook
    assert "1 passed" in written


@pytest.mark.parametrize("rule", [f"raise ValueError({EVIL!r})", f"return {EVIL!r}"])
def test_why_a_test_fails_is_shown(rule: str, tmp_path: Path) -> None:
    Path("test_speed.py").write_text(BENCH)
    install(tmp_path, "acme", "acme.fast", kernel_module("acme.fast", rule))
    (tmp_path / "acme_module.cu").write_text("__global__ void f(float *A, float *B, float *C) {}")
    options = ("--mm-kernel=acme.fast", *OPTIONS[1:])
    assert shows(printed("-p", "no:cacheprovider", *options, module="pytest", site=tmp_path))
