"""What all commands have in common: help, errors, warnings, exit codes, and manners towards the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmcore.cli.commandline import COMMANDS
from tests.command_line import install, kernel_module, mmcore, process

RESULTS = Path(__file__).parent.parent / "bench" / "results" / "nvidia-h200" / "cold.json"
EVERY_COMMAND = (
    ("list-kernels",),
    ("show", "upc.kernel00"),
    ("run", "upc.kernel00", "--size", "8", "--block", "8", "--device", "emulator"),
    ("occupancy", "upc.kernel00", "--cc", "9.0"),
    ("profile", "upc.kernel00", "--size", "8", "--block", "8"),
    ("check", "upc.kernel00", "--size", "8", "--block", "8"),
    ("conform", "hpsee.simple", "--device", "emulator"),
    ("experiment", "--list"),
    ("plot", str(RESULTS), "-o", "figure.svg"),
    ("new-plugin", "acme.tiled"),
    ("doctor",),
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``new-plugin`` and ``plot`` write into the folder they are called in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


every_command = pytest.mark.parametrize("arguments", EVERY_COMMAND, ids=lambda arguments: arguments[0])


def test_every_command_is_exercised_here() -> None:
    assert [arguments[0] for arguments in EVERY_COMMAND] == list(COMMANDS)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_command_in_one_line(arguments: tuple[str, ...]) -> None:
    result = mmcore(*arguments)
    assert result.exit_code == 0
    listed = result.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(".") and "..." not in line for line in listed)


def test_version() -> None:
    result = mmcore("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("mmcore 0.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lst-kernels",), "did you mean list-kernels?"),
        (("list",), "did you mean list-kernels?"),
        (("frobnicate",), f"there are {', '.join(COMMANDS)}"),
        (("--frobnicate",), "No such option '--frobnicate'"),
        (("run", "upc.kernel00", "--sise", "3"), "--size"),
        (("run",), "Missing argument 'KERNEL'"),
        (("show",), "Missing argument 'KERNEL'"),
        (("show", "upc.kernel0"), "did you mean upc.kernel10 or upc.kernel01 or upc.kernel00?"),
        (("run", "upc.kernl11"), "did you mean upc.kernel11"),
        (("run", "zzz"), "mmcore list-kernels shows what there is"),
        (("doctor", "now"), "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_answered_with_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    result = mmcore(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert said in line


@every_command
def test_json_is_one_document_and_nothing_else(arguments: tuple[str, ...]) -> None:
    result = mmcore(*arguments, "--json")
    assert result.exit_code == 0
    json.loads(result.stdout)
    assert result.stderr == ""


def test_an_error_leaves_stdout_empty_with_json_too() -> None:
    result = mmcore("show", "upc.kernel0", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: there is no kernel")


@every_command
def test_a_broken_plugin_is_a_warning_that_spoils_nothing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    install(tmp_path, "acme-broken", "acme.broken", "import there_is_no_such_module")
    result = process(*arguments, "--json", PYTHONPATH=str(tmp_path))
    assert result.returncode == 0
    json.loads(result.stdout)
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("warning: plugin acme.broken of acme-broken is set aside: ModuleNotFoundError")


def test_a_kernel_of_a_broken_plugin_is_refused_with_the_plugins_own_fault(tmp_path: Path) -> None:
    install(tmp_path, "acme-broken", "acme.broken", "raise OSError('no licence')")
    result = process("run", "acme.broken", PYTHONPATH=str(tmp_path))
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("Error: there is no kernel 'acme.broken': plugin acme.broken")
    assert "no licence" in result.stderr


def test_a_name_that_two_plugins_claim_is_nobodys(tmp_path: Path) -> None:
    install(tmp_path, "acme-one", "acme.one", kernel_module("acme.fast"))
    install(tmp_path, "acme-two", "acme.two", kernel_module("acme.fast"))
    listed = process("list-kernels", "--json", PYTHONPATH=str(tmp_path))
    assert listed.stderr.startswith("warning: kernel 'acme.fast' is claimed by acme.one of acme-one and acme.two")
    assert "acme.fast" not in {kernel["name"] for kernel in json.loads(listed.stdout)}
    shown = process("show", "acme.fast", PYTHONPATH=str(tmp_path))
    assert shown.returncode == 2
    assert "Error: kernel 'acme.fast' is claimed by" in shown.stderr


@every_command
def test_nothing_is_coloured_where_there_is_no_terminal(arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in process(*arguments, FORCE_COLOR="1").stdout


@pytest.mark.parametrize(
    "arguments",
    [*EVERY_COMMAND, ("run", "upc.kernel11", "--size", "33"), ("occupancy", "unsa.tiled", "--cc", "1.2")],
    ids=" ".join,
)
def test_everything_fits_a_terminal_of_80_columns(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    # The importing module first: importing it after the other is patched would make it keep the patch.
    monkeypatch.setattr("mmcore.cli.list_kernels.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.show.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    result = mmcore(*arguments)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout


@every_command
def test_commands_raise_no_warning_and_need_no_home(arguments: tuple[str, ...]) -> None:
    result = process(*arguments, options=("-W", "error"), HOME="/dev/null", MMCORE_CACHE_DIR="", XDG_CACHE_HOME="")
    assert (result.returncode, result.stderr) == (0, "")


@every_command
def test_an_encoding_without_the_signs_of_mathematics_is_no_error(arguments: tuple[str, ...]) -> None:
    text = process(*arguments, PYTHONIOENCODING="koi8-r")
    assert (text.returncode, text.stderr) == (0, "")


@every_command
def test_nor_is_it_for_json(arguments: tuple[str, ...]) -> None:
    document = process(*arguments, "--json", PYTHONIOENCODING="koi8-r")
    assert (document.returncode, document.stderr) == (0, "")
    json.loads(document.stdout)


@every_command
def test_a_reader_that_has_gone_is_not_complained_about(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        result = subprocess.run(
            [sys.executable, "-m", "mmcore", *arguments], stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "wb") as output:
        result = subprocess.run(
            [sys.executable, "-m", "mmcore", "list-kernels"], stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 2
    assert result.stderr == b"Error: the output cannot be written: No space left on device\n"


def test_control_c_ends_a_run_quietly(tmp_path: Path) -> None:
    install(tmp_path, "acme-slow", "acme.slow", kernel_module("acme.slow", "os.kill(os.getpid(), signal.SIGINT)"))
    result = process("run", "acme.slow", "--device", "emulator", PYTHONPATH=str(tmp_path))
    assert result.returncode == 130
    assert (result.stdout, result.stderr.strip()) == ("", "")
