"""Architectures that the emulator can take the place of: limits, refusals, shared memory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmcore
from mmcore import ConstraintViolation, Kernel, Unsupported
from mmcore.cell import Cell
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import CompileError, NoDevice
from mmcore.executor.choose_device import device_name, open_device
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore_cuda.binaries.code import sections_of
from mmcore_emulator.adapter.device import Emulator
from tests.command_line import mmcore as mmcore_command
from tests.emulation import CAPABILITIES, cubin_of, emulate
from tests.emulator.kernels import kernel_source

NAMES = [name for name in CAPABILITIES if name != "emulator"]


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_device_has_the_limits_of_its_compute_capability(name: str) -> None:
    device = open_device(name)
    assert (device.name, device_name(name)) == (name, name)
    assert device.properties.compute_capability == CAPABILITIES[name]
    result = measure(Cell("upc.kernel11", 33, 20, 17), device)
    assert result.verified
    assert result.to_json()["device"] == name
    assert f"compute capability {'.'.join(map(str, CAPABILITIES[name]))}" in result.device_description
    assert ("published model" in result.device_description) == (CAPABILITIES[name] != (9, 0))


def test_limits_differ() -> None:
    shared = {name: Emulator(name).properties.shared_bytes_optin >> 10 for name in CAPABILITIES}
    assert shared == dict(zip(CAPABILITIES, (227, 64, 163, 99, 99, 227), strict=True))
    assert [Emulator(name).properties.multiprocessors for name in NAMES] == [72, 108, 84, 142, 132]


@pytest.mark.parametrize("name", ["emulator:sm_99", "emulator:80", "emulator:", "emulator:sm_80:x"])
def test_a_wrong_name_is_answered_with_the_choices(name: str) -> None:
    choices = f"there is no device {name!r}; there are auto, cuda, emulator, {', '.join(NAMES)}"
    sentence = "emulator:80 does not exist; there is one emulator" if name == "emulator:80" else choices
    with pytest.raises(NoDevice, match=re.escape(sentence)):
        open_device(name)


def test_reports_name_the_emulated_architecture(pytester: pytest.Pytester) -> None:
    report = mmcore_command("run", "upc.kernel01", "--size", "8", "--device", "emulator:sm_75")
    assert report.exit_code == 0
    words = "compute capability {} (tensor cores by a published model)"
    assert f"emulator:sm_75: {words.format('7.5')}" in " ".join(report.stdout.split())
    devices = json.loads(mmcore_command("doctor", "--json").stdout)["devices"]
    (text,) = (each["findings"]["emulator:sm_89"] for each in devices if each["name"] == "emulator:sm_89")
    assert text.startswith(f"emulates {words.format('8.9')}")
    pytester.makepyfile("def test_cell(mm_benchmark): mm_benchmark()")
    options = "--mm-kernel upc.kernel01 --mm-size 16 --mm-device emulator:sm_80 -p no:cacheprovider"
    result = pytester.runpytest_inprocess(*options.split())
    result.stdout.fnmatch_lines(["mmcore: emulator:sm_80 (emulates compute capability 8.0 (tensor cores by a publ*"])


WGMMA = kernel_source("wgmma_fence")


@pytest.mark.parametrize(
    ("device", "declared", "error", "words"),
    [
        ("emulator:sm_80", {}, Unsupported, r"multiply\.cu uses wgmma\.fence, which sm_80 lacks; min_compute_cap"),
        # CompileError is what conform calls a failure of the declaration.
        ("emulator:sm_80", {}, CompileError, r"multiply\.cu uses wgmma\.fence, which sm_80 lacks; min_compute_cap"),
        ("emulator:sm_80", {"min_compute_capability": (9, 0)}, ConstraintViolation, r"needs compute capability 9\.0"),
        ("emulator:sm_80", {"architecture": "90a"}, Unsupported, r"is made for sm_90a; sm_80 does not run it"),
        ("emulator", {"architecture": "80"}, CompileError, "does not compile"),  # the wrong architecture is declared
        ("emulator", {}, None, ""),
    ],
)
def test_a_kernel_that_needs_9_0_is_refused_in_a_sentence(
    tmp_path: Path, device: str, declared: dict[str, Any], error: type[Exception] | None, words: str
) -> None:
    (tmp_path / "multiply.cu").write_text(WGMMA)
    kernel = Kernel(name="tests.multiply", source=tmp_path / "multiply.cu", configs=[{"block": (8, 8)}], **declared)
    cell = Cell("tests.multiply", 16, 16, 16)
    if error is None:
        assert measure(cell, Emulator(device), kernel).verified
        return
    with pytest.raises(error, match=words):
        measure(cell, Emulator(device), kernel)


def test_clusters_are_refused_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "nothing.cu").write_text('extern "C" __global__ void nothing(float *C) { C[0] = 1; }')
    launch = mmcore.Launch(grid=(2,), block=(32,), cluster=(2,))
    kernel = Kernel(
        name="tests.nothing", source=tmp_path / "nothing.cu", configs=[{"block": (32,)}], launch=lambda *_: launch
    )
    for name, refused in (("emulator", False), ("emulator:sm_89", True)):
        device = Emulator(name)
        planned = plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties)
        with LoadedKernel(planned, device) as loaded:
            if not refused:
                assert loaded.run() == []
                continue
            with pytest.raises(Unsupported, match=r"clusters of 2×1, which compute capability 8\.9 lacks"):
                loaded.run()


SHARED = r"""
extern "C" __global__ void f(unsigned long long* out) {
    __shared__ int s[20]; s[threadIdx.x] = 1; out[0] = __cvta_generic_to_shared(s);
}"""


@pytest.mark.parametrize("name", NAMES)
def test_shared_memory_begins_where_the_machine_code_of_the_architecture_has_it(name: str) -> None:
    """A CUBIN's section of shared memory includes the bytes before the arrays; code has that address as an operand."""
    architecture = Emulator(name).architecture
    run = emulate(SHARED, np.zeros(1, np.uint64), block=(20,), architecture=architecture)
    begin = int(run.arrays[0][0]) & 0xFFFFF
    sections = dict(sections_of(cubin_of(SHARED, architecture)))
    operands = np.frombuffer(sections[".text.f"].content, np.uint32)[1::4]
    assert begin == sections[".nv.shared.f"].size - 20 * 4
    assert (0x400 in operands) == (begin == 0x400) == (architecture == "90a")
