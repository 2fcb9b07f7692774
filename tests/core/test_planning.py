"""Planning: launches that a constraint, a device or a declaration forbids, and the numbers in the reasons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmcore import (
    BlockAmong,
    Config,
    Constraint,
    ConstraintViolation,
    DeviceProperties,
    Dim3,
    EqualSizes,
    FlatBlock,
    Int32Index,
    InvalidKernel,
    InvalidProblem,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Square,
    SquareBlock,
    Workspace,
)
from mmcore.errors import SharedMemoryExceeded
from mmcore.kernel.configs import resolve
from mmcore.planning.plan import launch_violations, plan, resource_violations, static_memory_violations

DEVICE = DeviceProperties()


def violation(constraint: Constraint, m: int, n: int, k: int, **parameters: Any) -> str | None:
    leading = {name: parameters.pop(name) for name in ("lda", "ldb", "ldc") if name in parameters}
    return constraint.violation(Problem(m, n, k, **leading), resolve({"block": (16, 8), **parameters}))


def kernel(**declared: Any) -> Kernel:
    usual = {"name": "tests.own", "source": Path("own.cu"), "entry": "own", "arguments": ("A", "B", "C", "n")}
    return Kernel(**{**usual, "configs": [{"block": (16, 8)}], **declared})


def reasons(planned: Kernel, *sizes: int, device: DeviceProperties = DEVICE, force: bool = False) -> tuple[str, ...]:
    """Return the reasons why the launch is forbidden, if it is."""
    try:
        plan(planned, planned.problem(*sizes), planned.usual_configs[0], device, force=force)
    except ConstraintViolation as error:
        return error.reasons
    return ()


# Constraints


@pytest.mark.parametrize(
    ("constraint", "description", "allowed", "forbidden", "said"),
    [
        (Square(), "m = n = k", (5, 5, 5), (5, 5, 6), "it takes square matrices only, and m, n and k are 5, 5 and 6"),
        (EqualSizes("mk"), "m = k", (5, 6, 5), (5, 5, 6), "it takes m = k only, and m and k are 5 and 6"),
        (Multiple("k", of=4), "k is a multiple of 4", (1, 2, 8), (4, 4, 6), "k = 6 is not a multiple of 4"),
        (Multiple("n", of=4), "n is a multiple of 4", (1, 8, 3), (6, 6, 6), "n = 6 is not a multiple of 4"),
        (Multiple("k", of=4, times=2), "k is a multiple of 2·4", (1, 2, 8), (8, 8, 4), "k = 4 is not a multiple of 8"),
        (
            *(Multiple(("m", "k"), of="block.y"), "m and k are multiples of block.y", (8, 1, 16), (4, 8, 12)),
            "m = 4 and k = 12 are not a multiple of block.y = 8",
        ),
        (
            *(
                Multiple(("m", "n", "k"), of="block.x", times=2),
                "m, n and k are multiples of 2·block.x",
                (32, 64, 96),
                (48,) * 3,
            ),
            "m = n = k = 48 is not a multiple of 2·block.x = 32",
        ),
        (
            *(Int32Index(), "each matrix has fewer than 2³¹ elements", (32768, 65520, 8), (32768, 65536, 8)),
            "C has 2147483648 elements; the kernel's int indexes reach 2147483647",
        ),
        (SquareBlock(), "the block is square", (8, 8), (16, 8), "the block must be square, but is 16×8"),
        (SquareBlock(), "the block is square", (8, 8), (8, 8, 2), "the block must be square, but is 8×8×2"),
        (
            *(FlatBlock(), "the block has one thread along z", (16, 8), (8, 8, 2)),
            "the block must have one thread along z, but is 8×8×2",
        ),
        (
            *(BlockAmong(((16, 16), (32,))), "the block is 16×16 or 32×1", (32, 1), (32, 32)),
            "the block must be 16×16 or 32×1, but is 32×32",
        ),
    ],
)
def test_a_constraint_on_sizes_or_the_block(
    constraint: Constraint, description: str, allowed: tuple[int, ...], forbidden: tuple[int, ...], said: str
) -> None:
    def found(shape: tuple[int, ...]) -> str | None:
        of_block = isinstance(constraint, SquareBlock | FlatBlock | BlockAmong)
        return violation(constraint, 1, 1, 1, block=shape) if of_block else violation(constraint, *shape)

    assert constraint.description == description
    assert (found(allowed), found(forbidden)) == (None, said)


def test_a_multiple_of_a_parameter() -> None:
    constraint = Multiple("n", of="BN")
    assert violation(constraint, 1, 128, 1, BN=64) is None
    assert violation(constraint, 1, 96, 1, BN=64) == "n = 96 is not a multiple of BN = 64"
    assert violation(Multiple("k", of="block.z"), 1, 1, 6, block=(1, 1, 4)) == "k = 6 is not a multiple of block.z = 4"


def test_a_multiple_of_a_leading_dimension() -> None:
    rows = Multiple(("k", "lda"), of=16)
    assert violation(rows, 16, 16, 16, lda=32) is None
    assert violation(rows, 16, 16, 16, lda=24) == "lda = 24 is not a multiple of 16"


def test_an_index_counts_whole_tiles_and_the_gaps_between_rows() -> None:
    assert violation(Int32Index(), 46336, 46336, 1) is None
    assert "C has 2147766272 elements" in str(violation(Int32Index(), 46337, 46336, 1))
    assert violation(Int32Index(), 46337, 46336, 1, block=(8, 8)) is None
    assert "C has 2152955904 elements" in str(violation(Int32Index(), 46337, 46336, 1, block=(8, 8), BM=128))
    assert "C has 2149990400 elements" in str(violation(Int32Index(), 46337, 46336, 1, block=(8, 64)))
    assert "A has 2147483648 elements" in str(violation(Int32Index(), 2048, 8, 8, lda=2**20))
    assert "B has 2147483648 elements" in str(violation(Int32Index(), 8, 8, 2048, ldb=2**20))
    assert "C has 2147483648 elements" in str(violation(Int32Index(), 2048, 8, 8, ldc=2**20))
    assert "A has 2147483648 elements" in str(violation(Int32Index(), 1, 8, 2**30, BM=2, BN=2, BK=2, block=(2, 1)))


# The device's limits


@pytest.mark.parametrize(
    ("grid", "block", "shared", "said"),
    [
        ((2**31 - 1, 65535, 65535), (32, 32), 232448, []),
        ((1,), (1, 1, 64), 0, []),
        ((1,), (1025,), 0, ["a 1025×1 block has 1025 threads; the device allows 1024"]),
        ((1,), (1, 1, 65), 0, ["a 1×1×65 block has 65 threads along z; the device allows 64"]),
        ((1,), (1, 1, 1024), 0, ["a 1×1×1024 block has 1024 threads along z; the device allows 64"]),
        ((1, 65536), (1,), 0, ["a 1×65536 grid has 65536 blocks along y; the device allows 65535"]),
        ((2**31,), (1,), 0, ["a 2147483648×1 grid has 2147483648 blocks along x; the device allows 2147483647"]),
        ((1,), (1,), 232449, ["a block asks for 232449 bytes of dynamic shared memory; the device allows 232448"]),
    ],
)
def test_a_device_limits_a_launch(grid: tuple[int, ...], block: tuple[int, ...], shared: int, said: list[str]) -> None:
    assert launch_violations(DEVICE, Dim3(*grid), Dim3(*block), shared) == said


def test_a_device_limits_registers_in_whole_warps_and_shared_memory_in_all() -> None:
    assert resource_violations(DEVICE, Dim3(1024), 64, 232448) == []
    (registers,) = resource_violations(DEVICE, Dim3(993), 65, 0)
    assert registers == (
        "a 993×1 block of threads with 65 registers each takes 73728 registers; the device allows 65536"
    )
    (shared,) = resource_violations(DEVICE, Dim3(1), 1, 232449)
    assert shared == "a block uses 232449 bytes of shared memory; the device allows 232448"
    assert static_memory_violations(49152, DEVICE.shared_bytes) == []
    (static,) = static_memory_violations(49153, DEVICE.shared_bytes)
    assert static.startswith("the source declares 49153 bytes of static shared memory")


# Plans


def test_every_violation_is_reported_at_once_and_force_ignores_the_kernels_own_alone() -> None:
    own = kernel(constraints=(Square(), Multiple("n", of=32)), configs=[{"block": (64, 32)}])
    device = "a 64×32 block has 2048 threads; the device allows 1024"
    said = ("it takes square matrices only, and m, n and k are 1, 2 and 3", "n = 2 is not a multiple of 32")
    assert reasons(own, 1, 2, 3) == (device, *said)
    assert reasons(own, 1, 2, 3, force=True) == (device,)
    with pytest.raises(ConstraintViolation, match=f"^tests.own: {device}; {said[0]}; {said[1]}$"):
        plan(own, own.problem(1, 2, 3), own.usual_configs[0], DEVICE)


def test_a_device_of_a_lower_compute_capability() -> None:
    hopper = kernel(min_compute_capability=(9, 0))
    assert reasons(hopper, 8, 8, 8, device=DeviceProperties(compute_capability=(9, 0))) == ()
    said = ("it needs compute capability 9.0; the device has 8.9",)
    assert reasons(hopper, 8, 8, 8, device=DeviceProperties(compute_capability=(8, 9)), force=True) == said
    ada = kernel(min_compute_capability=(8, 9))
    assert len(reasons(ada, 8, 8, 8, device=DeviceProperties(compute_capability=(8, 6)))) == 1


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Problem(8, 8, 8, "float64"), "tests.own computes float32, not float64"),
        (Problem(8, 8, 8, output="float64"), "tests.own computes float32, not float32→float64"),
        (Problem(8, 8, 8, beta=1), "tests.own computes C=AB float32"),
        (Problem(8, 8, 8, alpha=2), "tests.own computes C=AB float32"),
        (Problem(8, 8, 8, column_major="B"), "tests.own computes C=AB float32"),
    ],
)
def test_a_product_of_other_types_or_another_operation(problem: Problem, said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        plan(kernel(), problem, kernel().usual_configs[0], DEVICE)


def rule(*launches: Launch) -> Callable[[Problem, Config, DeviceProperties], tuple[Launch, ...]]:
    return lambda problem, config, device: launches


def test_memory_for_matrices_over_reads_and_workspaces() -> None:
    parts = Launch((1,), (1,), over_read={"A": 3, "B": 5}, arguments=("A", "B", Workspace("parts", 1000)))
    more = Launch(
        (1,), (1,), over_read={"A": 7}, entry="add", arguments=(Workspace("parts", 1000), "C", Workspace("flags", 8))
    )
    own = kernel(launch=rule(parts, more), accumulator="float64")
    planned = plan(own, own.problem(2, 3, 4), own.usual_configs[0], DEVICE)
    assert (planned.over_read("A"), planned.over_read("B"), planned.over_read("C")) == (7, 5, 0)
    assert planned.workspaces == {"parts": Workspace("parts", 1000), "flags": Workspace("flags", 8)}
    assert planned.entries == ("own", "add")
    assert planned.device_bytes == 4 * (8 + 7) + 4 * (12 + 5) + 8 * 6 + 1000 + 8


def test_a_limit_that_several_launches_exceed_is_reported_once() -> None:
    own = kernel(launch=rule(*[Launch((1,), (2000,))] * 2))
    assert reasons(own, 8, 8, 8, force=True) == ("a 2000×1 block has 2000 threads; the device allows 1024",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((Workspace("parts", 8), Workspace("parts", 9)), "its workspace 'parts' is declared with 8 bytes and 9"),
        (("n",), "n = 2147483648 is passed as int32, which cannot hold it"),
        ((Scalar("n", "uint16"),), "n = 2147483648 is passed as uint16, which cannot hold it"),
        ((Scalar(lambda problem, config: problem.n),), "the rule of a number: 2147483648 is no int32"),
        ((Scalar(lambda problem, config: 4.5),), "the rule of a number: 4.5 is no int32"),
        ((Scalar(lambda problem, config: 1 // 0),), "the rule of a number failed: ZeroDivisionError"),
    ],
)
def test_arguments_that_contradict_each_other_or_do_not_hold_their_size(arguments: tuple[Any, ...], said: str) -> None:
    own = kernel(arguments=arguments)
    with pytest.raises(InvalidKernel, match=said):
        plan(own, own.problem(1, 2**31, 1), own.usual_configs[0], DEVICE, force=True)


def test_an_argument_that_holds_its_size() -> None:
    half = Scalar(lambda problem, config: problem.k // 2, "int8")
    own = kernel(arguments=(Scalar("n", "uint32"), Scalar("k", "int8"), "m", half), launch=rule(Launch((1,), (1,))))
    assert reasons(own, 1, 2**32 - 1, 127, device=DeviceProperties(memory_bytes=1 << 50)) == ()


@pytest.mark.parametrize(
    ("over_read", "workspaces", "what"),
    [
        ({}, (), "the matrices"),
        *(({label: 1}, (), "the matrices and what may be read behind them") for label in "ABC"),
        ({}, (Workspace("parts", 8),), "the matrices and workspaces"),
        ({"A": 1}, (Workspace("parts", 8),), "the matrices and what may be read behind them and workspaces"),
    ],
)
def test_memory_that_is_lacking_is_named(over_read: dict[str, int], workspaces: tuple[Any, ...], what: str) -> None:
    launch = Launch((1,), (1,), over_read=over_read, arguments=("A", "B", "C", *workspaces))
    own = kernel(launch=rule(launch), accumulator="float64", dtype="float16")
    needed = 2 * 64 * 2 + 64 * 8
    needed += sum(elements * (8 if matrix == "C" else 2) for matrix, elements in over_read.items())
    needed += sum(each.nbytes for each in workspaces)
    assert reasons(own, 8, 8, 8, device=DeviceProperties(memory_bytes=needed)) == ()
    (said,) = reasons(own, 8, 8, 8, device=DeviceProperties(memory_bytes=needed - 1))
    assert said == f"{what} take {needed / 1e9:.1f} GB; the device has {(needed - 1) / 1e9:.1f} GB"


@pytest.mark.parametrize("grid", [(0,), (4, 0), (4, -2), (-1, -1), (-1, 4, -1)])
def test_a_grid_without_blocks_is_no_launch(grid: tuple[int, ...]) -> None:
    own = kernel(launch=rule(Launch((1,), (8,)), Launch(grid, (8,))))
    (said,) = reasons(own, 8, 8, 8, force=True)
    assert said == f"its rule gives an empty {Dim3(*grid)} grid for 8×8×8 with block=16x8"


def test_shared_memory_alone_is_an_error_of_its_own() -> None:
    much, wide = Launch((1,), (8,), shared_bytes=10**6), Launch((1,), (2000,), shared_bytes=10**6)
    for launch, alone in ((much, True), (wide, False)):
        own = kernel(launch=rule(launch))
        with pytest.raises(ConstraintViolation) as error:
            plan(own, own.problem(8, 8, 8), own.usual_configs[0], DEVICE)
        assert isinstance(error.value, SharedMemoryExceeded) == alone
        assert error.value.reasons[-1].startswith("a block asks for 1000000 bytes of dynamic shared memory; ")


def test_a_block_that_no_device_takes_is_refused_before_its_rule_is_asked() -> None:
    def asked(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        raise AssertionError

    own = kernel(launch=asked, configs=[{"block": (2048,)}])
    for force in (False, True):
        assert plan(kernel(), Problem(8, 8, 8), kernel().usual_configs[0], DEVICE, force=force).forced is force
        assert reasons(own, 8, 8, 8, force=force) == ("a 2048×1 block has 2048 threads; the device allows 1024",)


def test_a_launch_may_take_nothing_and_a_function_is_compiled_once() -> None:
    launched = Launch((1,), (8,)), Launch((2,), (8,), arguments=()), Launch((1,), (8,), entry="own", arguments=("C",))
    own = kernel(launch=rule(*launched))
    planned = plan(own, own.problem(8, 8, 8), own.usual_configs[0], DEVICE)
    assert [planned.arguments(launch) for launch in planned.launches] == [("A", "B", "C", "n"), (), ("C",)]
    assert planned.entries == ("own",)
