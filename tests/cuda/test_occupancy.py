"""Theoretical occupancy: the lecture's published tables, today's GPUs, and the output of ``mmcore occupancy``."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmcore import Config, ConstraintViolation, DeviceProperties, Dim3, Kernel, Launch, Multiple, Problem
from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.errors import UnknownCapability
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_cuda.occupancy.compiled import capability_target, compiled_occupancies, launch_occupancies, target_plan
from mmcore_cuda.occupancy.theoretical import Occupancy, occupancy
from mmcore_emulator.adapter.conversions import capability_properties
from mmcore_emulator.machine.limits import MULTIPROCESSORS, WARP, Multiprocessor
from tests.command_line import mmcore
from tests.conftest import DEVICES
from tests.kernel_sources import kernel_source
from tests.tables import cases, section_of

DATA, KERNELS = (Path(__file__).parents[1] / name for name in ("data", "kernels"))
# Poznań's tables 2, 7, 12, 17, 18 and 27. The tables of v1 leave the limits out.
PUBLISHED = list(csv.DictReader((DATA / "poznan_occupancy.csv").read_text().splitlines()))
CELLS = {
    **{name: name for name in ("threads_per_block", "warps_per_block", "registers_per_thread", "registers_per_block")},
    **{name: name for name in ("active_blocks", "active_warps", "active_threads")},
    **{f"limit_blocks_{name}": f"limit_{name}" for name in ("warps", "registers", "shared")},
    "shared_bytes_per_block": "shared_per_block",
}
published = pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['version']} {row['block']}")
blocks_of_any_capability = st.builds(
    Occupancy,
    st.sampled_from(list(MULTIPROCESSORS.values())),
    threads_per_block=st.integers(1, 1100),
    registers_per_thread=st.integers(0, 260),
    shared_per_block=st.integers(0, 6000) | st.integers(0, 240_000),
)


@published
def test_claim_8_every_published_cell_but_one_follows_from_the_calculation(row: dict[str, str]) -> None:
    found = occupancy(
        (1, 2),
        threads=int(row["block"]) ** 2,
        registers=int(row["registers_per_thread"]),
        shared_bytes=int(row["shared_bytes_per_block"]),
    )
    # v1 is a grid of a single block, which is all that a multiprocessor can get of it.
    active = found.in_grid(1) if row["version"] == "v1" else found
    calculated = {cell: getattr(active, name) for cell, name in CELLS.items()}
    calculated["occupancy_percent"] = 100 * active.occupancy
    printed = {cell: float(row[cell]) for cell in calculated if row[cell]}
    # The document contradicts itself in this one cell: of the same 1068 bytes, v5 8×8 is printed with 10 blocks.
    if (row["version"], row["block"]) == ("v4b", "8"):
        assert (printed.pop("limit_blocks_shared"), calculated["limit_blocks_shared"]) == (16, 10)
    assert {cell: calculated[cell] for cell in printed} == printed


@cases(__file__, "hand_checked", "capability, block, expected")
def test_hand_checked_blocks(capability: tuple[int, int], block: tuple[int, ...], expected: tuple[Any, ...]) -> None:
    found = Occupancy(MULTIPROCESSORS[capability], *block)
    assert (found.active_blocks, 192 * found.occupancy, found.binding) == expected


@given(blocks_of_any_capability)
def test_the_scarcest_resource_decides_and_no_more_is_active_than_the_multiprocessor_holds(found: Occupancy) -> None:
    limits = (found.limit_blocks, found.limit_warps, found.limit_registers, found.limit_shared)
    named = dict(zip(("hardware", "warps", "registers", "shared"), limits, strict=True))
    assert found.active_blocks == min(limits)
    assert found.binding
    assert {named[each] for each in found.binding} == {min(limits)}
    most = found.of
    assert 0 <= found.active_blocks <= most.blocks
    assert 0 <= found.active_warps <= most.warps
    assert 0 <= found.active_threads <= most.warps * WARP
    assert 0 <= found.occupancy <= 1
    assert found.active_blocks * found.registers_per_block <= most.registers
    assert found.active_blocks * found.shared_allocated <= most.shared_bytes
    assert found.registers_per_block >= found.threads_per_block * found.registers_per_thread
    assert found.shared_allocated >= found.shared_per_block + most.shared_reserved


@given(blocks_of_any_capability, st.integers(1, 40), st.integers(1, 4000))
def test_more_registers_or_shared_memory_never_raise_the_occupancy(block: Occupancy, more: int, bytes_: int) -> None:
    registers, shared_bytes = block.registers_per_thread + more, block.shared_per_block + bytes_
    assert replace(block, registers_per_thread=registers).active_blocks <= block.active_blocks
    assert replace(block, shared_per_block=shared_bytes).active_blocks <= block.active_blocks


@given(
    blocks_of_any_capability.filter(lambda block: block.threads_per_block <= block.of.threads_per_block),
    st.integers(1, 32),
)
def test_a_reduction_is_enough_and_no_more_than_needed(block: Occupancy, blocks: int) -> None:
    # Warps and the hardware hold blocks back as well, which no reduction lifts.
    blocks = min(blocks, block.limit_blocks, block.limit_warps)
    reduced = block.reduced(blocks)
    assert reduced.active_blocks >= blocks
    if reduced.registers_per_thread < block.registers_per_thread:
        assert replace(reduced, registers_per_thread=reduced.registers_per_thread + 1).limit_registers < blocks
    if reduced.shared_per_block < block.shared_per_block:
        assert replace(reduced, shared_per_block=reduced.shared_per_block + 1).limit_shared < blocks


ADVICE = [line.split(maxsplit=4) for line in (DATA / "occupancy_advice.txt").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("capability", "threads", "registers", "shared", "advice"), ADVICE)
def test_advice_in_a_sentence(capability: str, threads: str, registers: str, shared: str, advice: str) -> None:
    major, minor = map(int, capability.split("."))
    found = occupancy((major, minor), threads=int(threads), registers=int(registers), shared_bytes=int(shared))
    assert found.advice == advice


def test_a_grid_of_fewer_blocks_than_fit_leaves_the_rest_empty() -> None:
    idle = occupancy((7, 5), threads=32, registers=0, shared_bytes=0)
    assert (idle.limit_registers, idle.limit_shared, idle.limit_blocks) == (16, 16, 16), "no more than the hardware"
    found = occupancy((9, 0), threads=128, registers=32, shared_bytes=0)
    assert found.in_grid(16) is found
    three = found.in_grid(3)
    assert (three.active_blocks, three.active_warps, three.active_threads, three.occupancy) == (3, 12, 384, 12 / 64)
    assert three.binding == ("grid",)
    assert three.advice == "the grid binds: it has no more than 3 blocks, where 16 would fit at a time"


@pytest.mark.parametrize(("capability", "newer"), [((8, 7), ""), ((13, 0), ", which is newer than all of them,")])
def test_an_unknown_capability_is_refused_with_the_known_ones(capability: tuple[int, int], newer: str) -> None:
    name = ".".join(map(str, capability))
    known = "1.2, 1.3, 6.1, 7.0, 7.5, 8.0, 8.6, 8.9, 9.0, 10.0, 12.0"
    said = f"the limits of compute capability {name}{newer} are not in mmcore's table; it has {known}"
    with pytest.raises(UnknownCapability, match=f"^{re.escape(said)}$"):
        occupancy(capability, threads=32, registers=32, shared_bytes=0)


@pytest.mark.parametrize("most", MULTIPROCESSORS.values(), ids=lambda most: most.name)
def test_the_table_does_not_contradict_itself(most: Multiprocessor) -> None:
    assert MULTIPROCESSORS[most.capability] is most
    assert most.threads_per_block <= most.warps * WARP
    assert most.shared_bytes_per_block <= most.shared_bytes_per_block_optin <= most.shared_bytes - most.shared_reserved
    assert (most.shared_reserved > 0) == (most.capability >= (8, 0))
    assert most.warps % most.blocks == 0, "blocks of some whole number of warps fill it"
    assert Occupancy(most, most.threads_per_block, 32, most.shared_bytes_per_block_optin).active_blocks >= 1


def test_a_capabilitys_limits_are_those_of_a_device_of_it() -> None:
    tesla = capability_properties((1, 2))
    assert (tesla.threads_per_block, tesla.block, tesla.grid) == (512, Dim3(512, 512, 64), Dim3(65535, 65535, 1))
    assert tesla.multiprocessors == 12
    hopper = capability_properties((9, 0))
    assert (hopper.shared_bytes, hopper.shared_bytes_optin) == (48 << 10, 227 << 10)
    assert hopper.registers_per_block == 65536


def two_launches(problem: Problem, config: Config, device: DeviceProperties) -> Sequence[Launch]:
    return (Launch(grid=(4, 4), block=config.block, shared_bytes=1000), Launch(grid=(1,), block=(64,), entry="after"))


def staged(**declared: Any) -> Kernel:
    """Return a kernel of two launches; the first has static and dynamic shared memory."""
    declaration = {"entry": "first", "launch": two_launches, "configs": [{"block": (256, 1)}], **declared}
    return Kernel(name="acme.staged", source=KERNELS / "two_stages.cu", **declaration)


def test_every_launch_has_an_occupancy_by_its_static_and_dynamic_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    target = capability_target((9, 0))
    kernel = staged()
    planned = target_plan(kernel, kernel.problem(64, 64, 64), kernel.config(), target)
    module, (first, after) = compiled_occupancies(planned, target)
    assert (first.threads_per_block, first.shared_per_block) == (256, 2024)
    assert (after.threads_per_block, after.shared_per_block) == (64, 0)
    assert first.registers_per_thread == module.functions["first"].registers > 0
    assert launch_occupancies(planned, module, (9, 0)) == [first, after]
    monkeypatch.setitem(registry().kernels, "acme.staged", Registered(kernel, Origin("tests", "tests")))
    output = mmcore("occupancy", "acme.staged", "--cc", "9.0").stdout
    assert ["function", "first", "after"] in [line.split() for line in output.splitlines()]


def test_old_capabilities_are_compiled_for_the_oldest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [capability_target(pair).architecture for pair in ((1, 2), (7, 0), (8, 6), (12, 0))]
    assert targets == ["75", "75", "86", "120"]
    # CUDA 12's NVRTC supports 5.0 too.
    monkeypatch.setattr("cuda.bindings.nvrtc.nvrtcGetSupportedArchs", lambda: (None, [50, 61, 70, 75, 86, 90, 120]))
    assert capability_target((1, 2)).architecture == capability_target((7, 0)).architecture == "75"
    newer = staged(min_compute_capability=(9, 0))
    with pytest.raises(ConstraintViolation, match=r"it needs compute capability 9\.0; the device has 6\.1"):
        target_plan(newer, newer.problem(64, 64, 64), newer.config(), capability_target((6, 1)))


@pytest.mark.parametrize(("capability", "share"), [((9, 0), 3 / 64), ((13, 0), None)])
def test_every_result_has_the_lowest_occupancy_of_its_launches(
    device: Device, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], share: float | None
) -> None:
    if device.name != "emulator":
        pytest.skip("another GPU has another occupancy")
    properties = replace(capability_properties((9, 0)), compute_capability=capability)
    monkeypatch.setattr(type(device), "properties", properties)
    launches = (Launch(grid=(1,), block=(32,)), Launch(grid=(1,), block=(32,), shared_bytes=70_000))
    source = KERNELS / "one_element.cu"
    kernel = Kernel(name="tests.one", source=source, configs=[{"block": 32}], launch=lambda *asked: launches)
    result = measure(Cell("tests.one", 1, 1, 1), device, kernel)
    assert result.verified, result.failures()
    assert result.figures["occupancy"] == share


@pytest.fixture(autouse=True)
def own(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Register acme.tiled, with square tiles of 16, 5 and 22, and acme.many, with five configs that differ in WAYS."""
    cu_file.write_text(kernel_source("one_tile"))
    needs = (Multiple(("m", "n", "k"), of="TILE"),)
    configs: dict[str, list[dict[str, Any]]] = {
        "acme.tiled": [{"block": (edge, edge), "TILE": "{block.x}"} for edge in (16, 5, 22)],
        "acme.many": [{"block": (8, 8), "TILE": 8, "WAYS": ways} for ways in range(5)],
    }
    for name, several in configs.items():
        kernel = Kernel(name=name, source=cu_file, configs=several, constraints=needs)
        monkeypatch.setitem(registry().kernels, name, Registered(kernel, Origin("tests", "tests")))


def rows(output: str) -> dict[str, list[str]]:
    """Return the table's rows by name."""
    table = output.partition("\n\nblock ")[2].partition("\n\n")[0]
    cells = [re.split(r" {2,}", line) for line in f"block {table}".splitlines()]
    return {name.removesuffix(" "): values for name, *values in cells}


def answered(*arguments: str) -> dict[str, Any]:
    result = mmcore("occupancy", *arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_bare_numbers_give_the_lectures_table() -> None:
    result = mmcore("occupancy", "--registers", "12", "--shared", "2092", "--block", "16", "--cc", "1.2")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = section_of(__file__, "printed").strip().splitlines()
    assert rows(result.stdout) == {name: [value] for name, value in (re.split(r" {2,}", line) for line in lines)}
    assert result.stdout.endswith("\n16×16: warps bind: all 32 warps are active, and no more can be\n")
    found = answered("--registers", "40", "--shared", "5000", "--block", "32x8", "--cc", "9.0")
    expected = occupancy((9, 0), threads=256, registers=40, shared_bytes=5000)
    assert {key: found[key] for key in expected.to_json()} == expected.to_json()
    assert (found["kernel"], found["device"], found["block"], found["config"]) == (None, None, [32, 8, 1], None)


def test_a_kernel_has_a_column_for_every_usual_config_the_default_first() -> None:
    found = answered("acme.tiled", "--size", "880", "--device", "emulator")
    assert (found["kernel"], found["device"]) == ("acme.tiled", "emulator")
    configs = [{"block": [edge, edge, 1], "TILE": edge} for edge in (16, 5, 22)]
    assert [each["config"] for each in found["configs"]] == configs
    assert {key: found[key] for key in found["configs"][0]} == found["configs"][0]
    assert [each["config_id"] for each in found["configs"]] == ["b16", "b5", "b22"]
    assert [each["shared_per_block"] for each in found["configs"]] == [8 * edge**2 for edge in (16, 5, 22)]
    output = mmcore("occupancy", "acme.tiled", "--cc", "9.0", "--size", "880").stdout
    assert rows(output)["block"] == ["16×16", "5×5", "22×22"]
    (one,) = answered("acme.tiled", "--cc", "9.0", "--config", "TILE=5")["configs"]
    assert one["block"] == [5, 5, 1]


def test_configs_with_the_same_block_are_named_by_their_ids_four_to_a_table() -> None:
    output = mmcore("occupancy", "acme.many", "--cc", "9.0").stdout
    headings = [line.split()[1:] for line in output.splitlines() if line.startswith("config ")]
    assert headings == [[f"b8-TILE8-WAYS{ways}" for ways in range(4)], ["b8-TILE8-WAYS4"]]
    assert "\nb8-TILE8-WAYS4: " in output


def test_registers_are_those_that_run_reports() -> None:
    asked = ("acme.tiled", "--size", "32", "--device", "emulator")
    found, ran = answered(*asked), json.loads(mmcore("run", *asked, "--force", "--json").stdout)
    assert found["registers_per_thread"] == ran["registers"]
    assert (found["problem"], found["grid"]) == ({"m": 32, "n": 32, "k": 32}, [2, 2, 1])
    assert found["in_grid"]["active_blocks"] == min(4, found["active_blocks"])


def test_local_memory_is_reported_where_there_is_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "tall.cu"
    source.write_text("""__global__ void tall(const float* A, const float* B, float* C, int m, int n, int k) {
        int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * 16;
        float sums[16] = {};
        if (column >= n) return;
        for (int p = 0; p < k; p++)
            #pragma unroll 1
            for (int i = 0; i < 16; i++)
                if (row + i < m) sums[i] += A[(row + i) * k + p] * B[p * n + column];
        for (int i = 0; i < 16; i++)
            if (row + i < m) C[(row + i) * n + column] = sums[i];
    }""")
    kernel = Kernel(
        name="acme.tall",
        source=source,
        entry="tall",
        configs=[{"block": (32,)}],
        arguments=("A", "B", "C", "m", "n", "k"),
        grid=lambda problem, config: (-(-problem.n // 32), -(-problem.m // 16)),
    )
    monkeypatch.setitem(registry().kernels, "acme.tall", Registered(kernel, Origin("tests", "tests")))
    asked = ("acme.tall", "--size", "32", "--device", "emulator")
    names = {"local_bytes": 64, "spill_store_bytes": 0, "spill_load_bytes": 0}
    for document in (
        answered(*asked),
        json.loads(mmcore("run", *asked, "--no-hazards", "--json").stdout),
        json.loads(mmcore("profile", *asked, "--json").stdout)["launches"][0],
    ):
        assert {name: document[name] for name in names} == names
    assert rows(mmcore("occupancy", *asked).stdout)["local bytes per thread"] == ["64"]
    for command in (("run", "--no-hazards"), ("profile",)):
        assert re.search(r"^local memory +64 bytes per thread$", mmcore(*command, *asked).stdout, re.MULTILINE)
    output = mmcore("profile", *asked, "--by-line").stdout
    assert re.search(rf"local requests, {4 * 2 * 2 * 16 * 32:,} local sectors", output), "4 of a load or store"


def test_another_architecture_of_the_registers_is_named() -> None:
    def said(capability: str) -> str:
        return mmcore("occupancy", "acme.tiled", "--cc", capability, "--block", "16").stdout

    assert "sm_75, not 1.2, whose own code may take other registers; the parameters, which 1.x keeps" in said("1.2")
    assert "sm_75, not 6.1, whose own code may take other registers\n" in said("6.1")
    assert "compiled for        sm_90\n" in said("9.0")
    assert answered("acme.tiled", "--cc", "6.1")["architecture"] == "sm_75"


def test_given_registers_and_bytes_replace_the_compiled_ones() -> None:
    found = answered("acme.tiled", "--cc", "9.0", "--registers", "64", "--shared", "100")
    assert (found["registers_per_thread"], found["shared_per_block"], found["architecture"]) == (64, 100, None)
    half = answered("acme.tiled", "--cc", "9.0", "--registers", "64")
    assert (half["registers_per_thread"], half["shared_per_block"], half["architecture"]) == (64, 2048, "sm_90")


def test_a_grid_of_one_block_is_shown_beside_the_full_occupancy() -> None:
    sized = ("--cc", "1.2", "--registers", "16", "--shared", "44", "--size")
    output = mmcore("occupancy", "acme.tiled", *sized, "16").stdout
    assert rows(output)["active blocks"] == ["4"]
    assert rows(output)["active blocks in the grid"] == ["1"]
    assert rows(output)["occupancy in the grid"] == ["25 %"]
    assert "\n16×16: the grid binds: it has no more than 1 block, where 4 would fit at a time\n" in output
    assert "in the grid" not in mmcore("occupancy", "acme.tiled", *sized, "160").stdout


def test_configs_that_cannot_be_launched_are_named_with_the_reason() -> None:
    arguments = ("acme.tiled", "--size", "640", "--cc", "9.0")
    reason = "m = n = k = 640 is not a multiple of TILE = 22"
    assert mmcore("occupancy", *arguments).stdout.endswith(f"\n22×22 is refused: {reason}\n")
    found = answered(*arguments)
    assert [each["block"] for each in found["configs"]] == [[16, 16, 1], [5, 5, 1]]
    config = {"block": [22, 22, 1], "TILE": 22}
    assert found["refused"] == [{"config": config, "config_id": "b22", "reasons": [reason]}]


def test_the_answer_is_no_when_no_block_can_run() -> None:
    result = mmcore("occupancy", "--registers", "65", "--block", "32", "--cc", "9.0")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "\n32×32: no block can run on compute capability 9.0: a block takes 73728 registers" in result.stdout
    # Of several configs, one that runs is enough.
    assert mmcore("occupancy", "acme.tiled", "--registers", "200", "--cc", "9.0").exit_code == 0


def test_bare_numbers_are_of_the_device_when_no_capability_is_given() -> None:
    result = mmcore("occupancy", "--registers", "32", "--block", "16")
    assert result.exit_code == 0
    assert " (chosen by auto)\n" in result.stdout
    assert answered("--registers", "32", "--block", "16", "--device", "emulator")["device"] == "emulator"
    assert "(chosen" not in mmcore("occupancy", "--registers", "1", "--block", "8", "--device", "emulator").stdout


def test_a_gpu_newer_than_the_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_cuda.occupancy.compiled.device_capability", lambda device, phases: (13, 0))
    for arguments in (("acme.tiled",), ("--registers", "1", "--block", "8")):
        result = mmcore("occupancy", *arguments, "--device", "emulator")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "the limits of compute capability 13.0, which is newer than all of them, are not in" in result.stderr


@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU here to ask its driver")
def test_the_driver_says_the_same_of_every_config() -> None:
    """Compare every usual config, and other sizes and dynamic shared memory.

    Blocks with named barriers are large; of small ones the driver lets fewer in, which is not looked at.
    """
    from cuda.bindings import driver as cuda
    from cuda.core import ObjectCode

    device = open_device("cuda")
    capability = device.properties.compute_capability
    kernels = [each.item for each in registry().kernels.values() if not each.item.is_code]
    for kernel, config in [(each, config) for each in kernels for config in each.usual_configs]:
        planned = plan(kernel, kernel.square_problem(640, config), config, device.properties)
        module = compile_plan(planned, device.architecture)
        for launch, ours in zip(planned.launches, launch_occupancies(planned, module, capability), strict=True):
            function = module.functions[planned.entry(launch)]
            code = ObjectCode.from_cubin(module.cubin, name=module.source).get_kernel(function.symbol)
            most = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            cuda.cuKernelSetAttribute(most, max(launch.shared_bytes, 20_000), code.handle, 0)
            ask = code.occupancy
            driver = ask.max_active_blocks_per_multiprocessor(launch.block_dim.size, launch.shared_bytes)
            assert ours.active_blocks == driver, f"{kernel.name} in {config}: {launch}"
            named_barriers = re.search(r"\bbar(rier)?(\.\w+)+\s+(%|[1-9])", module.ptx)
            for threads in () if named_barriers else range(1, 1025, 31):
                for dynamic in (0, 1, 1000, 5000, 20_000):
                    shared_bytes = function.static_shared_bytes + dynamic
                    if shared_bytes > device.properties.shared_bytes:
                        continue
                    found = occupancy(
                        capability, threads=threads, registers=function.registers, shared_bytes=shared_bytes
                    )
                    driver = ask.max_active_blocks_per_multiprocessor(threads, dynamic)
                    assert found.active_blocks == driver, f"{kernel.name}: {threads} threads, {shared_bytes} bytes"
