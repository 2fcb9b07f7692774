"""Violations of a kernel's launches besides a wrong product, and repeated launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from mmcore import InvalidKernel, Kernel, Launch, Scalar, TensorMap, Workspace
from mmcore.devices.base import Buffer
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import SharedMemoryExceeded
from mmcore.executor.choose_device import open_device
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import plan
from mmcore.verify.verify_launches import Verified, mixed_inputs, verify_again, verify_launches
from mmcore_emulator.adapter.device import Emulator
from tests.kernel_sources import kernel_source
from tests.own_kernel import own

SOURCE = kernel_source("counts_its_launches")


@contextmanager
def loaded(path: Path, total: str = "sum", more: str = "", **declared: Any) -> Iterator[tuple[LoadedKernel, Problem]]:
    """Yield a loaded 8×8×8 kernel that stores ``total`` and runs ``more``; ``number`` counts its launches from 0."""
    path.write_text(SOURCE.replace("SUM", total).replace("MORE", more))
    kernel = Kernel(name="tests.own", source=path, configs=[{"block": (64,)}], grid=lambda *_: (1,), **declared)
    problem = kernel.problem(8, 8, 8, ldc=12)
    device = Emulator()
    with LoadedKernel(plan(kernel, problem, kernel.usual_configs[0], device.properties), device) as found:
        yield found, problem


def messages(verified: Verified) -> list[str]:
    return [str(violation) for violation in verified.violations]


@pytest.mark.parametrize(
    ("more", "violation"),
    [
        ("A[5] = -A[5]", "input-overwritten: element 5 of A, which the kernel may only read, was changed"),
        ("B[63] = 2.0f", "input-overwritten: element 63 of B, which the kernel may only read, was changed"),
        ("C[11] = 0.0f", "out-of-bounds-write: row 0, column 11 of C, which lies between its rows, was written"),
        ("C[8] = 1.0f", "out-of-bounds-write: row 0, column 8 of C, which lies between its rows, was written"),
        ("C[47] = 1.0f", "out-of-bounds-write: row 3, column 11 of C, which lies between its rows, was written"),
        ("C[80] = 1.0f", "out-of-bounds-write: row 6, column 8 of C, which lies between its rows, was written"),
        ("C[83] = 1.0f", "out-of-bounds-write: row 6, column 11 of C, which lies between its rows, was written"),
    ],
)
def test_what_a_kernel_must_not_touch_is_compared(cu_file: Path, more: str, violation: str) -> None:
    with loaded(cu_file, more=more) as (kernel, problem):
        verified = verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1))
    assert messages(verified) == [violation]
    assert verified.verification is not None
    assert verified.verification.verified
    assert not verified.right


@pytest.mark.parametrize(
    "total",
    [
        *("number == 1 ? 0.0f : sum", "number == 2 ? 0.0f : sum", "number > 0 ? 0.0f : sum"),
        "number ? C[row * ldc + column] : sum",  # it remembers its first product
    ],
)
def test_a_kernel_that_is_wrong_in_a_later_launch_is_unrepeatable(cu_file: Path, total: str) -> None:
    with loaded(cu_file, total=total) as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        again = verify_again(kernel, problem, 1)
    assert messages(again) == ["unrepeatable: it was verified at first, and run again on other inputs it is wrong"]
    assert again.verification is not None
    assert not again.verification.verified


def test_a_violation_in_a_later_launch_is_reported_with_the_first_being_right(cu_file: Path) -> None:
    with loaded(cu_file, more="if (number > 1) A[0] = 0.0f") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        again = messages(verify_again(kernel, problem, 1))
    assert [message.partition(":")[0] for message in again] == ["unrepeatable", "input-overwritten"]


def test_a_time_limit_says_nothing_of_the_kernel(cu_file: Path) -> None:
    with loaded(cu_file, more="for (volatile int i = 0; number > 0; ++i);") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        with kernel.module._deadline.within(0.3):  # type: ignore[attr-defined]
            again = verify_again(kernel, problem, 1)
    assert [violation.kind for violation in again.violations] == ["timeout"]
    assert again.verification is None


# A kernel on a device


def test_a_stopped_launch_says_nothing_of_guard_zones(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = own(cu_file, "C[0] = A[0] * B[0];")
    device = open_device("emulator")
    with LoadedKernel(plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties), device) as it:
        damaged, stopped = Violation("out-of-bounds-write", "behind C", "C"), Violation("deadlock", "it is")
        monkeypatch.setattr(type(it.buffers["C"]), "guard_zone_violations", lambda buffer: [damaged])
        assert it.run() == [damaged] * 3
        monkeypatch.setattr(it.module, "run", lambda calls: [stopped])
        assert it.run() == [stopped]


@pytest.mark.parametrize("fails", [False, True])
def test_only_borrowed_memory_is_not_freed(cu_file: Path, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    arguments = ("A", "B", "C", "n" if not fails else Scalar("n", "int64"), Workspace("parts", 100))
    kernel = own(cu_file, "C[0] = A[0] * B[0];", arguments=arguments)
    cu_file.write_text(cu_file.read_text().replace("int n)", "int n, float* parts)"))
    device = open_device("emulator")
    planned = plan(kernel, kernel.problem(2, 3, 4), kernel.usual_configs[0], device.properties)
    borrowed = device.allocate("B", 48)
    made: dict[str, tuple[int, int]] = {}
    closed: list[str] = []
    allocate = device.allocate

    def noted(label: str, nbytes: int, over_read_bytes: int = 0) -> Buffer:
        made[label] = nbytes, over_read_bytes
        return allocate(label, nbytes, over_read_bytes)

    monkeypatch.setattr(device, "allocate", noted)
    monkeypatch.setattr(type(borrowed), "close", lambda buffer: closed.append(buffer.label))
    with (
        pytest.raises(InvalidKernel, match="but is declared with") if fails else nullcontext(),
        LoadedKernel(planned, device, borrowed={"B": borrowed}) as loaded,
    ):
        assert loaded.buffers["B"] is borrowed
        assert closed == []
    assert made == {"A": (4 * 8, 0), "C": (4 * 6, 0), "parts": (100, 0)}
    assert closed == ["parts", "C", "A"]


def test_static_and_dynamic_shared_memory_are_limited_together(cu_file: Path) -> None:
    body = "__shared__ float s[10000]; s[threadIdx.x] = A[0]; __syncthreads(); C[0] = s[0] * B[0];"
    device = open_device("emulator")
    most = device.properties.shared_bytes_optin
    for dynamic, fits in ((most - 40000, True), (most - 39999, False)):
        kernel = own(
            cu_file, body, launch=lambda problem, config, device, dynamic=dynamic: Launch((1,), (32,), dynamic)
        )
        planned = plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties)
        said = f"a block uses {most + 1} bytes of shared memory; the device allows {most}"
        with nullcontext() if fits else pytest.raises(SharedMemoryExceeded, match=said):
            LoadedKernel(planned, device).__exit__()


def test_what_launches_get_is_bound_by_matrix_type_and_size(cu_file: Path) -> None:
    cu_file.write_text(
        "struct alignas(64) Map { char bytes[128]; };\n"
        'extern "C" __global__ void f(Map a, Map b, Map c, float* C, long long lda, short k, float x) { }\n'
    )
    maps = tuple(TensorMap(matrix, (8, 4)) for matrix in "ABC")
    numbers = (Scalar("lda", "int64"), Scalar("k", "int16"), Scalar(0.5, "float32"))
    kernel = Kernel(
        name="acme.own", source=cu_file, configs=[{"block": 8}], arguments=(*maps, "C", *numbers),
        dtype="float16", output="float64",
    )  # fmt: skip
    device = open_device("emulator")
    problem = kernel.problem(2, 3, 5, lda=16, ldb=24, ldc=32)
    planned = plan(kernel, problem, kernel.usual_configs[0], device.properties)
    with LoadedKernel(planned, device) as loaded:
        (call,) = loaded.launches
        bound = [(*each.extents, each.strides[0], each.dtype) for each in call.arguments[:3]]  # type: ignore[union-attr]
        assert bound == [(2, 5, 16, "float16"), (5, 3, 24, "float16"), (2, 3, 32, "float64")]
        assert [each.buffer for each in call.arguments[:3]] == [loaded.buffers[matrix] for matrix in "ABC"]  # type: ignore[union-attr]
        assert call.arguments[3] is loaded.buffers["C"]
        scalars: list[Any] = [*call.arguments[4:]]
        assert [(str(each.dtype), each) for each in scalars] == [("int64", 16), ("int16", 5), ("float32", 0.5)]
        assert [launch.function for launch in loaded.launches] == [loaded.compiled.functions["f"]]
