"""Properties of all commands: help, errors, warnings, exit status, output on a terminal."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mmcore.cli import main
from mmcore.cli.output import write_json
from mmcore.registry import registry
from tests.command_line import install, installed, kernel_module, mmcore, process, python_path
from tests.kernel_sources import kernel_source

RESULTS = Path(__file__).parents[2] / "bench" / "results" / "nvidia-h200" / "cold.json"
SMALL = ("--size", "8", "--block", "8", "--device", "emulator")
EVERY_COMMAND = (
    ("list-kernels",),
    ("show", "upc.kernel00"),
    ("run", "upc.kernel00", *SMALL),
    ("bench-history", str(RESULTS.parent / "experiments")),
    ("check", "upc.kernel00", *SMALL),
    ("conform", "hpsee.simple", "--block", "16", "--device", "emulator"),
    ("doctor",),
    ("experiment", "--list"),
    ("explain", "upc.kernel10", "--size", "8", "--block", "8"),
    ("new-plugin", "acme.tiled"),
    ("occupancy", "upc.kernel00", "--cc", "9.0"),
    ("plot", str(RESULTS), "-o", "figure.svg"),
    ("profile", "upc.kernel00", "--size", "8", "--block", "8"),
    ("prove", "upc.kernel00", "--size", "8", "--block", "8"),
)
NEED_A_GPU = ("ncu", "tune")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty folder, because ``new-plugin`` and ``plot`` write to the working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


every_command = pytest.mark.parametrize("arguments", EVERY_COMMAND, ids=lambda arguments: arguments[0])


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_command_in_one_line(arguments: tuple[str, ...]) -> None:
    assert mmcore("--version").stdout == "mmcore 0.3.0\n"
    result = mmcore(*arguments)
    assert result.exit_code == 0
    listed = result.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == sorted(registry().commands)
    assert all(line.endswith(".") and "..." not in line for line in listed)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_json(number: float, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"rows": [number]})
    assert capsys.readouterr().out == ""
    write_json({"name": "m×n", "none": None})
    assert json.loads(capsys.readouterr().out.encode("ascii")) == {"name": "m×n", "none": None}


BROKEN = "import os; print('thank you'); os.write(1, b'for installing'); import there_is_no_such_module"


@every_command
def test_json_stays_one_document(arguments: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    install(tmp_path, "acme-broken", "acme.broken", BROKEN)
    with installed(tmp_path):
        result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    warning = "warning: plugin acme.broken of acme-broken failed to load: ModuleNotFoundError: No module named "
    if arguments == ("doctor",):
        assert [each["plugin"] for each in document["failed"]] == ["acme.broken"]
        assert result.stderr == "thank you\n"
    else:
        printed, warned = result.stderr.splitlines()
        assert printed == "thank you"
        assert warned.startswith(warning)
    assert capfd.readouterr() == ("", "for installing")


@pytest.mark.parametrize(
    "arguments",
    [
        *(f"{name} my.cu --size 32 --device emulator --seed 1" for name in ("run", "check", "profile")),
        "prove my.cu --size 32 --device emulator",
        "explain my.cu --size 32",
        "occupancy my.cu --size 32 --cc 9.0",
        "show my.cu",
        "doctor",
    ],
)
def test_quiet_prints_the_result_alone(arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    (tmp_path / "my.cu").write_text(kernel_source("naive_square"))
    usual, quiet = mmcore(*arguments.split()), mmcore(*arguments.split(), "-q")
    assert quiet.exit_code == usual.exit_code == 0, quiet.output
    assert quiet.stderr == ""
    assert 0 < len(quiet.stdout) < len(usual.stdout)
    assert quiet.stdout.rstrip() in usual.stdout
    assert "mul of my.cu" not in quiet.stdout


def test_what_plugins_print_stays_where_it_is_without_json(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.loud", f"print('thank you')\n{kernel_module('acme.loud')}")
    assert mmcore("list-kernels", "acme", "-q", site=tmp_path).stdout == "thank you\nacme.loud\n"


def test_a_kernel_of_a_broken_plugin_is_missed_with_the_plugins_own_reason(tmp_path: Path) -> None:
    install(tmp_path, "acme-broken", "acme.broken", "raise OSError('no licence')")
    result = mmcore("run", "acme.broken", site=tmp_path)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Error: there is no kernel 'acme.broken': plugin acme.broken")
    assert "no licence" in result.stderr


COMMAND = """
import click
from mmcore import hookimpl

@hookimpl
def mmcore_commands():
    return {names}

@click.command()
@click.option("--json", "as_json", is_flag=True)
def tune(as_json):
    "Find the fastest config."
    from mmcore.cli.output import loaded_registry, write_json
    print("tuning")
    write_json(sorted(loaded_registry().kernels)) if as_json else print("tuned")
    return 1
"""


def command_module(**names: str) -> str:
    return COMMAND.format(names={name.replace("_", "-"): target for name, target in names.items()})


def test_a_third_party_adds_a_command(tmp_path: Path) -> None:
    install(tmp_path, "acme-tuner", "acme.tuner", command_module(sweep="acme_tuner_module:tune"))
    text = mmcore("sweep", site=tmp_path)
    assert (text.exit_code, text.stdout, text.stderr) == (1, "tuning\ntuned\n", "")
    document = mmcore("sweep", "--json", site=tmp_path)
    assert (document.exit_code, document.stderr) == (1, "tuning\n")
    assert "upc.kernel11" in json.loads(document.stdout)
    assert "\n  sweep          Find the fastest config.\n" in mmcore("--help", site=tmp_path).stdout
    assert "sweep: acme.tuner of acme-tuner" in mmcore("doctor", site=tmp_path).stdout


@pytest.mark.parametrize("returned", ["[0]", "'fine'", "True", "256", "-1", "2.0"])
def test_a_wrong_exit_status_is_the_plugins_fault(returned: str, tmp_path: Path) -> None:
    module = command_module(sweep="acme_tuner_module:tune").replace("return 1", f"return {returned}")
    install(tmp_path, "acme-tuner", "acme.tuner", module)
    result = mmcore("sweep", site=tmp_path)
    told = f"the command sweep of plugin acme.tuner of acme-tuner returned {returned!r}, not an exit status: a whole"
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {told}")


def test_the_documented_command_works_and_mmcore_adds_json(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "plugin-reference.md").read_text()
    (module,) = re.findall(r"^```python\n([^`]*def elements\(.*?)^```", page, re.MULTILINE | re.DOTALL)
    install(tmp_path, "acme-yield", "acme.yield", module.replace("acme_yield:", "acme_yield_module:"))
    asked = ("yield", "upc.kernel01", "--size", "24", "--block", "16")
    assert mmcore(*asked, site=tmp_path).stdout == "kernel    upc.kernel01\nelements  0.562\n"
    document = mmcore(*asked, "--json", site=tmp_path)
    assert (document.exit_code, json.loads(document.stdout)) == (0, {"kernel": "upc.kernel01", "elements": 0.5625})
    assert "--json" in mmcore("yield", "--help", site=tmp_path).stdout


def test_a_kernel_or_command_that_two_plugins_bring_belongs_to_none(tmp_path: Path) -> None:
    for name in ("one", "two"):
        module = kernel_module("acme.fast") + command_module(sweep=f"acme_{name}_module:tune")
        install(tmp_path, f"acme-{name}", f"acme.{name}", module)
    kernel, command = (
        f"{what} is brought by acme.one of acme-one and acme.two of acme-two; "
        for what in ("kernel 'acme.fast'", "command 'sweep'")
    )
    listed = mmcore("list-kernels", "--json", site=tmp_path)
    assert f"warning: {kernel}" in listed.stderr
    assert f"warning: {command}" in listed.stderr
    assert "acme.fast" not in {each["name"] for each in json.loads(listed.stdout)}
    for arguments, said in ((("sweep",), command), (("show", "acme.fast"), kernel)):
        result = mmcore(*arguments, site=tmp_path)
        assert (result.exit_code, f"Error: {said}" in result.stderr) == (2, True)


@pytest.mark.parametrize("taken", ["run", "show"])
def test_a_third_party_cannot_take_mmcores_commands(taken: str, tmp_path: Path) -> None:
    install(tmp_path, "acme-tuner", "acme.tuner", command_module(**{taken: "acme_tuner_module:tune"}))
    result = mmcore("run", "upc.kernel00", "-q", *SMALL, site=tmp_path)
    assert (result.exit_code, result.stdout) == (0, "TEST PASS\n")
    warning = f"warning: plugin acme.tuner of acme-tuner failed to load: the command {taken!r} is mmcore's own\n"
    assert result.stderr == warning


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("acme_lost:tune", "cannot be imported: ModuleNotFoundError: No module named 'acme_lost'"),
        ("acme_module:lost", "cannot be imported: AttributeError: module 'acme_module' has no attribute 'lost'"),
        ("acme_module:COMMAND", "is no click command"),
        ("acme_leaves:tune", "cannot be imported: SystemExit: not here, and not now"),
    ],
)
def test_a_command_that_cannot_be_imported_is_one_sentence(target: str, reason: str, tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.tuner", command_module(sweep=target) + "\nCOMMAND = print")
    (tmp_path / "acme_leaves.py").write_text("raise SystemExit('not here,\\n  and not now')")
    result = mmcore("sweep", site=tmp_path)
    said = f"Error: the command sweep, {target}, {reason}\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", said)
    assert f"sweep          (the command sweep, {target}" in mmcore("--help", site=tmp_path).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    "arguments",
    [*EVERY_COMMAND, ("run", "upc.kernel11", "--size", "33"), ("occupancy", "unsa.tiled", "--cc", "1.2")],
    ids=" ".join,
)
def test_everything_fits_a_terminal_of_80_columns(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mmcore_tools.list_kernels", "mmcore_tools.show", "mmcore.cli.output"):
        monkeypatch.setattr(f"{module}.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    result = mmcore(*arguments)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    # list-kernels has one line for each kernel, which ends between words.
    assert arguments[0] == "list-kernels" or "…" not in result.stdout


@pytest.mark.parametrize("arguments", EVERY_COMMAND[1:4], ids=lambda arguments: arguments[0])
def test_a_process_without_home_terminal_or_the_signs_of_mathematics_is_no_error(arguments: tuple[str, ...]) -> None:
    nothing = {"HOME": "/dev/null", "MMCORE_CACHE_DIR": "", "XDG_CACHE_HOME": ""}
    result = process(*arguments, options=("-W", "error"), FORCE_COLOR="1", PYTHONIOENCODING="koi8-r", **nothing)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout


def test_control_c_ends_a_run_and_its_worker_process_in_a_sentence(tmp_path: Path) -> None:
    noted = f"print(os.getpid(), file=open({str(tmp_path / 'worker')!r}, 'w'), flush=True)"
    rule = f"{noted}; os.kill(os.getppid(), signal.SIGINT); signal.pause()"
    install(tmp_path, "acme-slow", "acme.slow", kernel_module("acme.slow", rule))
    result = process("run", "acme.slow", "--device", "emulator", PYTHONPATH=python_path(tmp_path), MMCORE_IN_PROCESS="")
    assert (result.returncode, result.stdout, result.stderr.strip()) == (130, "", "interrupted: no verdict")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "worker").read_text()), 0)


def test_a_file_in_place_of_a_command_gets_the_command_that_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.cu").touch()
    result = mmcore("my.cu", "--size", "32")
    sentence = "Error: 'my.cu' is a file and no command; did you mean this?\n  mmcore run my.cu --size 32\n"
    assert (result.exit_code, result.stderr) == (2, sentence)
    assert mmcore("run", "my.cu").stderr == "Error: my.cu is empty\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("run upc.kernel1", "plain,upc.kernel10\nplain,upc.kernel11\nplain,upc.kernel11_naive_guard\n"),
        ("bench hpsee.t", "plain,hpsee.tiled\n"),
        ("check ./my", "file,./my\n"),
        (
            "run upc.kernel11 --device emulator:sm_8",
            "plain,emulator:sm_80\nplain,emulator:sm_86\nplain,emulator:sm_89\n",
        ),
        ("experiment upc-sizes --device a", "plain,auto\n"),
    ],
)
def test_a_shell_completes_kernels_files_and_devices(
    words: str, completed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_MMCORE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"mmcore {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert mmcore().stdout == completed
