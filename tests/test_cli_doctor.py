"""``mmcore doctor``."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore.cli.examination import DEPENDENCIES
from mmcore.errors import CompilerMissing
from mmcore.devices.base import Device
from mmcore.registry import Registry, registry
from tests.command_line import install, mmcore, process


def examined(exit_code: int = 0) -> dict[str, Any]:
    result = mmcore("doctor", "--json")
    assert result.exit_code == exit_code, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of the test's own, with the kernels and without any device."""
    found = Registry(kernels=registry().kernels)
    monkeypatch.setattr("mmcore.registry.registry", lambda: found)
    return found


class Provider:
    """A third party's provider of one device that cannot be opened."""

    name = "fpga"
    supports_timing = True
    isolated = False

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        return {"fpga:0": "a card"}

    def open(self, index: int) -> Device:
        raise OSError("the card is on fire")


class Raising(Provider):
    """One that fails when it is asked anything at all."""

    def count(self) -> int:
        raise SystemExit("no licence")

    def findings(self) -> Mapping[str, str]:
        raise OSError("no card")


def test_a_machine_that_can_run_kernels() -> None:
    found = examined()
    assert found["can_run"] is True
    assert re.fullmatch(r"13\.\d+", found["nvrtc"]["version"])
    assert {device["name"] for device in found["devices"]} == {"cuda", "emulator"}
    assert found["distributions"] == {"mmcore": len(api.kernels())}
    assert (found["broken"], found["contested"]) == ([], [])


def test_it_says_which_device_auto_means() -> None:
    assert examined()["auto"]["device"] == api.run("upc.kernel01", 8).device


def test_the_text_says_what_the_json_says() -> None:
    found, text = examined(), mmcore("doctor").stdout
    assert text.endswith("\nKernels can be run here.\n")
    for value in (found["python"], found["mmcore"], found["nvrtc"]["version"], found["cache"]["directory"]):
        assert value in text
    for device in found["devices"]:
        assert all(f"{name}: {finding}" in text for name, finding in device["findings"].items())


def test_every_package_that_mmcore_requires_is_listed() -> None:
    required = [line for line in importlib.metadata.requires("mmcore") or () if "extra ==" not in line]
    names = {re.match(r"[\w.-]+", line)[0] for line in required}  # type: ignore[index]
    assert names <= set(DEPENDENCIES)
    assert examined()["dependencies"]["numpy"] == importlib.metadata.version("numpy")


def test_without_nvrtc_the_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def nvrtc_version() -> tuple[int, int]:
        raise CompilerMissing("NVRTC cannot be loaded; python -m pip install 'cuda-toolkit[nvrtc]==13.*' brings it")

    monkeypatch.setattr("mmcore.cli.examination.nvrtc_version", nvrtc_version)
    result = mmcore("doctor")
    assert result.exit_code == 1
    assert "python -m pip install 'cuda-toolkit[nvrtc]==13.*'" in result.stdout
    assert result.stdout.endswith("\nNo kernel can be run here: NVRTC is missing.\n")
    assert examined(exit_code=1)["nvrtc"]["version"] is None


@pytest.mark.usefixtures("plugins")
def test_without_any_device_the_answer_is_no() -> None:
    result = mmcore("doctor")
    assert result.exit_code == 1
    assert "no plugin provides any" in result.stdout
    assert result.stdout.endswith("\nNo kernel can be run here: a device is missing.\n")
    assert examined(exit_code=1)["devices"] == []


def test_a_provider_that_raises_is_reported(plugins: Registry) -> None:
    plugins.providers["fpga"] = Raising()
    (device,) = examined(exit_code=1)["devices"]
    assert device == {"name": "fpga", "count": 0, "findings": {}, "problem": "SystemExit: no licence"}
    assert "fpga: SystemExit: no licence" in mmcore("doctor").stdout


def test_a_device_that_auto_cannot_open_is_reported(plugins: Registry) -> None:
    plugins.providers["fpga"] = Provider()
    found = examined()
    problem = "the plugin that provides 'fpga' failed: OSError: the card is on fire"
    assert found["auto"] == {"device": None, "problem": problem}
    assert "the card is on fire" in mmcore("doctor").stdout


def test_broken_plugins_are_reported_with_their_reasons(tmp_path: Path) -> None:
    install(tmp_path, "acme-broken", "acme.broken", "raise OSError('no licence')")
    result = process("doctor", PYTHONPATH=str(tmp_path))
    assert result.returncode == 0
    assert "acme.broken of acme-broken: OSError: no licence" in result.stdout
    assert "warning: plugin acme.broken of acme-broken is set aside" in result.stderr


def test_the_cache_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "entry").write_bytes(bytes(3_000_000))
    assert examined()["cache"] == {"directory": str(tmp_path), "writable": True, "megabytes": 3.0, "problem": None}
    assert f"{tmp_path}: writable, 3.0 MB" in mmcore("doctor").stdout


def test_looking_at_the_cache_does_not_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "not" / "there"))
    assert examined()["cache"]["writable"] is True
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", "/dev/null/cache")
    cache = examined()["cache"]
    assert cache["writable"] is False
    assert cache["problem"] == "/dev/null is not writable (Not a directory)"
    assert "every kernel is compiled anew" in mmcore("doctor").stdout
