"""The exit status: 0 is right, 1 is wrong, 2 is one sentence on why it could not run; never a traceback."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import mmcore as library
from mmcore.baseline_comparison import rivals
from mmcore.cell import Cell
from mmcore.cli.options import number_type
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import all_tuned, own_folder
from mmcore_engines import Request, connect
from tests.command_line import install, installed, mmcore
from tests.kernel_sources import kernel_source

SMALL = ("--size", "8", "--block", "8", "--device", "emulator")
KERNEL = kernel_source("multiply")
NUMBERS = (
    *("9" * 40, "9" * 400, "9" * 4400, "1e400", "-1e400", "nan", "inf", "-inf", "0x10", "1_0", "٣", "", " 5", "+-5"),
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "kernel.cu").write_text(KERNEL)
    monkeypatch.chdir(folder)


def refused(*arguments: str, site: Path | None = None) -> str:
    """Return the sentence that refuses a command."""
    result = mmcore(*arguments, site=site)
    assert isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert (result.exit_code, result.stdout) == (2, ""), (arguments, result.output)
    sentence = result.stderr.splitlines()[-1]
    assert sentence.startswith("Error: ")
    return sentence


# Every option with a number, or an expression of numbers, as its value.
OPTIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("run", "kernel.cu", *SMALL): ("--seed", "--timeout", "--lda", "--alpha", "--beta", "--grid", "--shared"),
    ("run", "upc.kernel11", "--device", "emulator"): ("--size", "-m", "--block"),
    ("conform", "hpsee.simple", "--device", "emulator"): ("--seed", "--timeout"),
    ("occupancy", "--block", "8", "--cc", "9.0"): ("--registers",),
    ("occupancy", "--block", "8", "--cc", "9.0", "--registers", "8"): ("--shared",),
    ("bench-history",): ("--fail", "--window", "--size"),
    ("tune", "upc.kernel11", "--size", "8"): ("--budget", "--trials", "--timeout", "--seed"),
    ("plot", "results.json", "-o", "figure.svg"): ("--size",),
    ("explain", "upc.kernel10", "--size", "8", "--block", "8"): ("--line",),
}


FLOATS, TEXTS = ("--alpha", "--beta", "--fail", "--timeout", "--budget"), ("--grid", "--shared", "--block")
MEANT = {"": TEXTS, " 5": (*FLOATS, *TEXTS), "1_0": (*FLOATS, *TEXTS), "٣": FLOATS, "0x10": ("--grid", "--shared")}
"""The options that take such a number all the same."""


@pytest.mark.parametrize(
    ("command", "option", "number"),
    [
        (command, option, number)
        for command, options in OPTIONS.items()
        for option in options
        for number in NUMBERS
        if option not in MEANT.get(number, ())
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else value[0],
)
def test_a_number_beyond_its_bounds_is_refused_shortly(command: tuple[str, ...], option: str, number: str) -> None:
    assert len(refused(*command, f"{option}={number}")) < 600


def test_bounds_are_allowed_numbers() -> None:
    read = number_type(-3, 7)
    assert [read("-3"), read("7")] == [-3, 7]
    assert number_type(0, 1, float)("0.5") == 0.5


@pytest.mark.parametrize("limit", [10**40, float("inf"), float("nan"), 0, -1, "60"])
def test_the_python_api_refuses_a_time_limit_that_no_timer_takes(limit: object) -> None:
    with pytest.raises(MmcoreError, match="a time limit is a number of seconds above 0 and up to 30 days"):
        library.run("upc.kernel11", 8, device="emulator", timeout=limit)


ANSWERS = (
    "raise ValueError('no\\nlicence')",
    "raise SystemExit(1)",
    "raise Unspeakable",
    "return 3",
    "return 'text'",
    "return [3]",
    "return {3: 4}",
    "return {'a': 'b'}",
    "return {'a': float('nan')}",
    "return [object()]",
    "yield 1; raise KeyError('x')",
)
RUN = ("run", "upc.kernel11", "--no-hazards", *SMALL)
HOOKS = {
    "mmcore_kernels()": RUN,
    "mmcore_devices()": RUN,
    "mmcore_compilers()": RUN,
    "mmcore_commands()": RUN,
    "mmcore_figures(kernel, device)": RUN,
    "mmcore_file_options()": RUN,
    "mmcore_notes(kernel)": ("show", "upc.kernel11"),
    "mmcore_hints(result)": RUN,
    "mmcore_remarks(result)": ("run", "upc.kernel11", *SMALL),
    "mmcore_kernel_of_file(reference, taken)": ("run", "kernel.cu", "--no-hazards", *SMALL),
    "mmcore_presets()": ("experiment", "--list"),
}


def hook_module(hook: str, answer: str) -> str:
    return f"""
from mmcore import hookimpl
class Unspeakable(Exception):
    def __str__(self): raise RuntimeError
@hookimpl
def {hook}:
    {answer}
"""


def install_a_plugin_for_each_answer(site: Path, hook: str) -> None:
    for number, answer in enumerate(ANSWERS):
        install(site, f"acme{number}", f"acme.plugin{number}", hook_module(hook, answer))


def assert_failures_are_reported(stderr: str) -> None:
    for number, answer in enumerate(ANSWERS):
        if answer.startswith("raise"):
            assert f"warning: plugin acme.plugin{number} of acme{number} failed" in stderr, answer


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_that_fail_or_return_nonsense_cost_their_own_answers(hook: str, tmp_path: Path) -> None:
    install_a_plugin_for_each_answer(tmp_path, hook)
    result = mmcore(*HOOKS[hook], site=tmp_path)
    assert result.exit_code == 0, (result.output, result.exception)
    assert all(word not in result.stdout for word in ("licence", "Unspeakable"))
    assert_failures_are_reported(result.stderr)


def test_plugins_may_fail_to_bring_configs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install_a_plugin_for_each_answer(tmp_path, "mmcore_tuning()")
    with installed(tmp_path):
        assert {tuned.origin for tuned in all_tuned()} <= {"your own", "mmcore-cuda"}
    assert_failures_are_reported(capsys.readouterr().err)


def test_engines_and_checkers_that_plugins_do_not_bring_are_missed_in_a_sentence(tmp_path: Path) -> None:
    install_a_plugin_for_each_answer(tmp_path, "mmcore_checkers()")
    assert "'lost'" in refused("check", "upc.kernel11", *SMALL, "--with", "lost", site=tmp_path)
    assert connect("processes", Request("emulator"))


def test_a_baseline_that_is_no_kernel_is_no_baseline(tmp_path: Path) -> None:
    install_a_plugin_for_each_answer(tmp_path, "mmcore_baselines(kernel)")
    with installed(tmp_path):
        kernel: Kernel = registry().kernel("upc.kernel11")
        found = rivals(Cell("upc.kernel11", 8, 8, 8, baseline="*"), kernel, kernel.usual_configs[0])
    assert all(isinstance(each.kernel, Kernel) for each in found)


def test_what_a_file_lacks_is_said_by_the_plugin_that_reads_it(tmp_path: Path) -> None:
    raising = "from mmcore import MmcoreError; raise MmcoreError('this file is no kernel')"
    install(tmp_path, "acme", "acme.plugin", hook_module("mmcore_kernel_of_file(reference, taken)", raising))
    assert refused("run", "kernel.cu", *SMALL, site=tmp_path) == "Error: this file is no kernel"


@pytest.mark.parametrize("raised", ["ZeroDivisionError('a\\nb')", "SystemExit('not here')", "OSError('gone')"])
def test_a_command_that_raises_is_a_sentence_and_not_wrong(raised: str, tmp_path: Path) -> None:
    command = f"""
import click
from mmcore import hookimpl
@hookimpl
def mmcore_commands():
    return {{"sweep": "acme_module:sweep"}}
@click.command()
def sweep():
    raise {raised}
"""
    install(tmp_path, "acme", "acme.plugin", command)
    assert len(mmcore("sweep", site=tmp_path).stderr.splitlines()) == 1
    refused("sweep", site=tmp_path)


def test_a_user_without_a_home_has_a_command_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for name in ("MMCORE_CACHE_DIR", "MMCORE_TUNING_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert mmcore(*RUN).stdout.endswith("TEST PASS\n")
    with pytest.raises(MmcoreError, match="there is no home directory; set HOME, or MMCORE_TUNING_DIR to a folder"):
        own_folder()


@pytest.mark.parametrize("variable", ["MMCORE_CACHE_DIR", "MMCORE_TUNING_DIR", "HOME", "COLUMNS", "MMCORE_IN_PROCESS"])
@pytest.mark.parametrize("value", ["/dev/null", "x" * 5000, "/proc/self/mem", "\udcff", "0", "-1"])
def test_kernels_run_whatever_a_variable_is(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable == "HOME":
        monkeypatch.delenv("MMCORE_CACHE_DIR")
        monkeypatch.delenv("MMCORE_TUNING_DIR")
    if variable != "MMCORE_IN_PROCESS":
        monkeypatch.setenv(variable, value)
    assert mmcore(*RUN).stdout.endswith("TEST PASS\n")
    assert mmcore("doctor").exit_code == 0


def in_a_folder_that_is_gone(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    command = ["bash", "-c", 'rmdir "$PWD" && exec "$@"', "bash", sys.executable, "-m", "mmcore", *arguments]
    environment = {**os.environ, "MMCORE_IN_PROCESS": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_working_directory_that_is_gone_is_missed_only_by_what_needs_it(tmp_path: Path) -> None:
    ran = in_a_folder_that_is_gone(*RUN, folder=tmp_path / "gone")
    assert (ran.returncode, ran.stderr) == (0, "")
    needed = in_a_folder_that_is_gone("run", "kernel.cu", *SMALL, folder=tmp_path / "gone")
    assert (needed.returncode, needed.stdout) == (2, "")
    assert needed.stderr == "Error: kernel.cu cannot be read: the working directory is gone\n"


@pytest.mark.parametrize(
    "command", ["run", "show", "check", "profile", "conform", "occupancy", "explain", "new-plugin"]
)
def test_a_file_whose_name_is_no_utf8_is_refused_by_its_name(command: str) -> None:
    name = os.fsdecode(b"kernel\xff.cu")
    Path(name).write_text(KERNEL)
    kernel = ("acme.fast", "--from", name) if command == "new-plugin" else (name,)
    said = "Error: kernel\\udcff.cu cannot be read: its name, or a folder's, is not UTF-8"
    assert refused(command, *kernel) == said


M = f"{shlex.quote(sys.executable)} -m mmcore"


CANNOT = "Error: the output cannot be written: "
STREAMS = {
    ">/dev/full": (2, f"{CANNOT}No space left on device\n"),
    "</dev/null 1</dev/null": (2, f"{CANNOT}Bad file descriptor\n"),
    ">/dev/full 2>/dev/full": (2, ""),
    ">&-": (0, ""),
    "2>&-": (0, ""),
    "<&- >&- 2>&-": (0, ""),
    "| true": (141, ""),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("command", "streams"),
    [
        *((command, streams) for command in ("list-kernels", "list-kernels --json") for streams in STREAMS),
        *((command, ">/dev/full") for command in ("--help", "--version", "run --help", "")),
    ],
)
def test_output_that_cannot_be_written_is_a_sentence(command: str, streams: str) -> None:
    shell = ["bash", "-c", f"set -o pipefail; {M} {command} {streams}"]
    result = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == STREAMS[streams]


def test_a_kernel_runs_with_every_stream_closed() -> None:
    shell = ["bash", "-c", f"{M} {shlex.join(RUN)} <&- >&- 2>&-"]
    assert subprocess.run(shell, env={**os.environ, "MMCORE_IN_PROCESS": ""}, check=False).returncode == 0


@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", ">/dev/full 2>/dev/full"])
def test_an_error_message_that_cannot_be_written_keeps_its_status(streams: str) -> None:
    assert subprocess.run(["bash", "-c", f"{M} run lost {streams}"], check=False).returncode == 2


@pytest.mark.parametrize("module", ["mmcore.cli", "mmcore.kernel.declaration", "click", "mmcore.registry", "pluggy"])
def test_control_c_while_modules_are_imported_ends_the_command_quietly(module: str) -> None:
    interrupted = f"""
import signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {module!r}: signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder)
from mmcore.__main__ import main
main()
"""
    command = [sys.executable, "-c", interrupted]
    result = subprocess.run(
        command, capture_output=True, check=False, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    assert (result.returncode, result.stderr) == (130, b"")


def test_a_mistake_of_a_plugins_shows_its_traceback_in_pythons_development_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "import click\n@click.command()\ndef fail():\n    return 1 // 0\n"
    install(tmp_path, "acme", "acme", command + hook_module("mmcore_commands()", "return {'fail': 'acme_module:fail'}"))
    with installed(tmp_path):
        assert refused("fail").endswith("python -X dev -m mmcore shows where")
        monkeypatch.setattr(sys, "flags", SimpleNamespace(dev_mode=True))
        assert isinstance(mmcore("fail").exception, ZeroDivisionError)
