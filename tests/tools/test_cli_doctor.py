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
from mmcore.errors import CompilerMissing
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import Registry, registry
from mmcore_emulator.isa.architectures import CAPABILITIES
from tests.command_line import install, installed, kernel_module, mmcore


def examined(exit_code: int = 0) -> dict[str, Any]:
    result = mmcore("doctor", "--json")
    assert result.exit_code == exit_code, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Return the registry without any device."""
    found = registry()
    for name in list(found.providers):
        monkeypatch.delitem(found.providers, name)
    return found


class Provider:
    """A third party's provider of one device that cannot be opened, or of none that can be counted."""

    name = "fpga"
    supports_timing = True

    def __init__(self, licensed: bool) -> None:
        self._licensed = licensed

    def count(self) -> int:
        if not self._licensed:
            raise SystemExit("no licence")
        return 1

    def findings(self) -> Mapping[str, str]:
        if not self._licensed:
            raise OSError("no card")
        return {"fpga:0": "a card"}

    def open(self, index: int) -> Any:
        raise OSError("the card is on fire")

    properties = open


def test_a_machine_that_can_run_kernels() -> None:
    found = examined()
    assert found["can_run"] is True
    assert re.fullmatch(r"1[23]\.\d+", found["compilers"]["nvrtc"]["version"])
    assert "of CUDA " in found["compilers"]["nvrtc"]["findings"]["headers"]
    assert {device["name"] for device in found["devices"]} == {"cuda", *CAPABILITIES}
    assert found["auto"]["device"] == api.run("upc.kernel01", 8).device
    assert found["distributions"] == {"mmcore-cuda": len(api.kernels())}
    assert found["commands"]["check"] == "emulator of mmcore-cuda"
    assert (found["failed"], found["duplicates"], found["namesake"]) == ([], [], None)


def test_the_text_says_what_the_json_says() -> None:
    found, text = examined(), mmcore("doctor").stdout
    assert text.endswith("\nKernels can be run here.\n")
    nvrtc = found["compilers"]["nvrtc"]["version"]
    for value in (found["python"], found["executable"], found["mmcore"], nvrtc, found["cache"]["directory"]):
        assert value in text
    packages = {name: version or "is not installed" for name, version in found["dependencies"].items()}
    assert all(re.search(f"  {name} {version}\n", text) for name, version in packages.items())
    assert f"mmcore-cuda: {len(api.kernels())} kernels\n" in text
    assert f"{found['auto']['device']}\n" in text
    for device in found["devices"]:
        assert all(f"{name}: {finding}" in text for name, finding in device["findings"].items())
    assert all(f"{name}: {origin}\n" in text for name, origin in found["commands"].items())


def test_every_package_that_mmcore_requires_is_listed() -> None:
    required = [line for line in importlib.metadata.requires("mmcore-cuda") or () if "extra ==" not in line]
    names = {re.match(r"[\w.-]+", line)[0] for line in required}  # type: ignore[index]
    found = examined()["dependencies"]
    assert names == found.keys()
    assert found["numpy"] == importlib.metadata.version("numpy")


def test_without_nvrtc_the_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def nvrtc_version() -> tuple[int, int]:
        raise CompilerMissing("NVRTC cannot be loaded; python -m pip install 'mmcore-cuda[cu13]' brings it")

    monkeypatch.setattr("mmcore_cuda.nvrtc.bindings.nvrtc_version", nvrtc_version)
    result = mmcore("doctor")
    assert result.exit_code == 1
    assert "python -m pip install 'mmcore-cuda[cu13]'" in result.stdout
    assert result.stdout.endswith("\nNo kernel can be run here: nvrtc is missing.\n")
    assert examined(exit_code=1)["compilers"]["nvrtc"]["version"] is None


@pytest.mark.usefixtures("plugins")
def test_without_any_device_the_answer_is_no() -> None:
    result = mmcore("doctor")
    assert result.exit_code == 1
    assert "no plugin provides any" in result.stdout
    assert result.stdout.endswith("\nNo kernel can be run here: a device is missing.\n")
    assert examined(exit_code=1)["devices"] == []


def test_a_provider_that_fails_is_one_sentence(plugins: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    def add_provider(licensed: bool) -> None:
        provider = Registered(Provider(licensed), Origin("acme", "acme-fpga"))
        monkeypatch.setitem(plugins.providers, "fpga", provider)

    add_provider(licensed=False)
    (device,) = examined(exit_code=1)["devices"]
    assert device == {"name": "fpga", "count": 0, "findings": {}, "problem": "SystemExit: no licence"}
    assert "fpga: SystemExit: no licence" in mmcore("doctor").stdout
    add_provider(licensed=True)
    assert "fpga:0: a card" in mmcore("doctor").stdout
    result = mmcore("run", "upc.kernel01", "--size", "8", "--device", "fpga")
    said = "Error: the plugin that provides 'fpga' failed: OSError: the card is on fire\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", said)


def test_problems_of_plugins_are_reported_once(tmp_path: Path) -> None:
    install(tmp_path, "acme-broken", "acme.broken", "raise OSError('no licence')")
    install(tmp_path, "acme-good", "acme.good", kernel_module("acme.good"))
    for word in ("one", "two"):
        install(tmp_path, f"acme-{word}", f"acme.{word}", kernel_module("acme.fast"))
    result = mmcore("doctor", site=tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("acme.broken of acme-broken: OSError: no licence") == 1
    assert "acme-good: 1 kernel\n" in result.stdout
    said = "kernel 'acme.fast' is brought by acme.one of acme-one and acme.two of acme-two; it belongs to none of them"
    assert said in result.stdout


def test_another_project_called_mmcore_is_reported(tmp_path: Path) -> None:
    metadata = tmp_path / "mmcore-1.4.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mmcore\nVersion: 1.4\n")
    assert "another project called mmcore (1.4) is installed" in mmcore("doctor", site=tmp_path).stdout
    with installed(tmp_path):
        assert examined()["namesake"] == "1.4"


def test_the_cache_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "entry").write_bytes(bytes(3_000_000))
    assert examined()["cache"] == {"directory": str(tmp_path), "writable": True, "megabytes": 3.0, "problem": None}
    assert f"{tmp_path}: writable, 3.0 MB" in mmcore("doctor").stdout


def test_a_cache_that_is_not_there_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "not" / "there"))
    assert examined()["cache"]["writable"] is True
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MMCORE_CACHE_DIR", "/dev/null/cache")
    cache = examined()["cache"]
    assert (cache["writable"], cache["problem"]) == (False, "/dev/null is not writable")
    assert "every kernel is compiled each time" in mmcore("doctor").stdout


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("MMCORE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", home)
    problem = "there is no home directory; set HOME, or MMCORE_CACHE_DIR to a folder"
    assert examined()["cache"] == {"directory": None, "writable": False, "megabytes": 0.0, "problem": problem}
    assert f"none: {problem}; every kernel is compiled each time\n" in mmcore("doctor").stdout
