"""Plugins: found, loaded when asked for, and set aside when broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mmcore
from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Scalar, Square, Workspace, hookimpl
from mmcore.registry import Registry

NOTHING: Any = None
HALF: Any = 0.5


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    return Launch(grid=(1,), block=block)


def kernel(name: str = "acme.fast", **changes: Any) -> Kernel:
    attributes: dict[str, Any] = {
        "name": name,
        "title": "a test's own",
        "lecture": "none",
        "source": Path("acme.cu"),
        "entry": "f",
        "arguments": ("A", "B", "C", "n"),
        "launch": launch,
        "blocks": ((16, 16),),
    }
    return Kernel(**attributes | changes)


def plugin(**hooks: Any) -> object:
    """A plugin whose hooks return, or raise, what they are given."""

    def implementation(result: Any) -> Any:
        def hook() -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        return hookimpl(hook)

    return SimpleNamespace(**{name: implementation(result) for name, result in hooks.items()})


def test_every_kernel_knows_its_plugin_and_distribution() -> None:
    for name, registered in mmcore.registry.registry().kernels.items():
        assert registered.kernel.name == name
        assert registered.plugin
        assert registered.distribution


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (plugin(mmcore_kernels=ValueError("no luck")), "ValueError: no luck"),
        (plugin(mmcore_kernels=SystemExit(3)), "SystemExit: 3"),
        (plugin(mmcore_kernels=[1]), "mmcore_kernels returned 1, which is not a Kernel"),
        (plugin(mmcore_kernels=7), "mmcore_kernels returned int, not a list"),
        (plugin(mmcore_devices=[object()]), "AttributeError: 'object' object has no attribute 'name'"),
        (plugin(mmcore_kernel=[]), "unknown hook 'mmcore_kernel'"),
        (SimpleNamespace(), "it implements no hook of mmcore"),
    ],
)
def test_a_broken_plugin_is_set_aside_with_its_reason(broken: object, reason: str) -> None:
    registry = Registry()
    registry.add(broken, "acme.fast", "acme-kernels")
    registry.add(plugin(mmcore_kernels=[kernel("good.one")]), "good", "good-kernels")
    assert set(registry.kernels) == {"good.one"}
    (complaint,) = registry.complaints()
    assert complaint.startswith("plugin acme.fast of acme-kernels is set aside: ")
    assert reason in complaint
    assert "\n" not in complaint


def test_looking_for_a_broken_plugins_kernel_tells_why_it_is_missing() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=ValueError("no luck")), "acme.fast", "acme-kernels")
    with pytest.raises(mmcore.UnknownKernel, match="no luck"):
        registry.kernel("acme.fast")


def test_a_name_that_two_plugins_claim_belongs_to_neither() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=[kernel(), kernel("acme.other")]), "one", "first-package")
    registry.add(plugin(mmcore_kernels=[kernel()]), "two", "second-package")
    registry.add(plugin(mmcore_kernels=[kernel()]), "three", "third-package")
    assert set(registry.kernels) == {"acme.other"}
    with pytest.raises(mmcore.ConflictingKernels) as conflict:
        registry.kernel("acme.fast")
    for claimant in ("one of first-package", "two of second-package", "three of third-package"):
        assert claimant in str(conflict.value)
    assert registry.complaints() == [str(conflict.value)]


def test_a_misspelt_kernel_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(mmcore.UnknownKernel, match=r"there is no kernel 'upc.kernel1'; did you mean upc\.kernel1"):
        mmcore.run("upc.kernel1", 64)


def test_importing_mmcore_loads_neither_plugins_nor_cuda_nor_numpy() -> None:
    probe = "import sys, mmcore; print([name for name in sys.modules if name.startswith(('mmcore_', 'cuda', 'numpy'))])"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "Fast!"}, "'Fast!' is not a kernel name"),
        ({"name": "fast"}, "'fast' is not a kernel name"),
        ({"name": 3}, "3 is not a kernel name"),
        ({"title": " "}, "its title must be a text of one line, not ' '"),
        ({"launch": "later"}, "its launch rule is not callable"),
        ({"blocks": ()}, "it declares no block shape"),
        ({"blocks": ((0, 16),)}, "(0, 16) is not a block shape"),
        ({"blocks": (16, 16)}, "its blocks are several shapes, such as ((16, 16),), not (16, 16)"),
        ({"blocks": 16}, "its blocks are several: (16,) instead of 16"),
        ({"blocks": iter(())}, "its blocks are several: "),
        ({"entry": "f<{tile}>"}, "'f<{tile}>' cannot be filled in: 'tile' is no value of a launch"),
        ({"defines": {"TILE": "{block.w}"}}, "'{block.w}' cannot be filled in"),
        ({"arguments": ("A", Scalar(5, "float31"))}, "'float31' is not a type of a scalar argument"),
        ({"dtype": "int8"}, "'int8' is not an element type"),
        ({"arguments": ("A", "B", "D")}, "argument 'D' is none of A, B, C, m, n, k"),
        ({"constraints": ("square",)}, "'square' is not a constraint"),
        ({"constraints": (SimpleNamespace(sentence="odd", refusal="no"),)}, "has no sentence or no refusal"),
        ({"constraints": (SimpleNamespace(sentence=len, refusal=len),)}, "is no text, but <built-in function len>"),
        ({"constraints": (SimpleNamespace(sentence=" ", refusal=len),)}, "is no text, but ' '"),
        ({"arguments": (Scalar(10**400, "float32"),)}, "0 is no float32"),
        ({"arguments": (Scalar(3.5e38, "float32"),)}, "3.5e+38 is no float32"),
        ({"arguments": (Scalar(65520.0, "float16"),)}, "65520.0 is no float16"),
        ({"architecture": "sm_90"}, "architecture 'sm_90' is not of the form 90 or 90a"),
        ({"source": None}, "is declared with a value of the wrong type"),
        ({"title": "two\nlines"}, "its title must be a text of one line, not 'two\\nlines'"),
        ({"accumulate": "yes"}, "accumulate is True or False, not 'yes'"),
        ({"options": "-use_fast_math"}, "its options are several: ('-use_fast_math',) instead of '-use_fast_math'"),
        ({"options": (1,)}, "its options are texts, unlike (1,)"),
        ({"known_bugs": "slow"}, "its known_bugs are several: ('slow',) instead of 'slow'"),
        ({"constraints": Square()}, "its constraints are several: (Square(),) instead of Square()"),
        *(
            ({"min_compute_capability": wrong}, f"min_compute_capability is a pair of whole numbers such as (9, 0), not {wrong!r}")
            for wrong in (9.0, 9, "9.0", None, (9,), ("9", "0"))
        ),
        ({"arguments": (Scalar(4.5),)}, "4.5 is no int32"),
        ({"arguments": (Scalar(-1, "uint8"),)}, "-1 is no uint8"),
        ({"arguments": (Scalar(2**63, "int64"),)}, "9223372036854775808 is no int64"),
        ({"arguments": (Scalar(float("inf")),)}, "inf is no int32"),
        ({"arguments": (Scalar(NOTHING),)}, "None is no number, and cannot be a scalar argument"),
        ({"arguments": (Workspace("A", 4),)}, "a workspace cannot be called 'A': A, B and C are the matrices"),
        ({"arguments": (Workspace("parts", HALF),)}, "workspace 'parts' has 0.5 bytes instead of a whole number"),
        ({"arguments": (Workspace("parts", -4),)}, "workspace 'parts' has -4 bytes instead of a whole number"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_rejected_in_words(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(mmcore.InvalidKernel) as error:
        kernel(**changes)
    assert reason in str(error.value)


def test_a_declaration_may_use_lists() -> None:
    declared = kernel(min_compute_capability=[9, 0], options=["-lineinfo"], constraints=[Square()])
    assert (declared.min_compute_capability, declared.options, declared.constraints) == ((9, 0), ("-lineinfo",), (Square(),))


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ({"shared_bytes": 64.0}, "shared_bytes is a whole number of bytes, not 64.0"),
        ({"shared_bytes": -1}, "shared_bytes is a whole number of bytes, not -1"),
        ({"block": 256}, "the block 256 is not one to three whole numbers, such as (16, 16)"),
        ({"grid": 4}, "the grid 4 is not one to three whole numbers, such as (16, 16)"),
        ({"cluster": 2}, "the cluster 2 is not one to three whole numbers, such as (16, 16)"),
        ({"arguments": (Scalar(2**31),)}, "2147483648 is no int32"),
        ({"arguments": "A"}, 'a launch\'s arguments are several: ("A", "B"), not \'A\''),
    ],
)
def test_a_launch_that_makes_no_sense_is_rejected_in_words(launch: dict[str, Any], reason: str) -> None:
    with pytest.raises(mmcore.InvalidKernel) as error:
        Launch(**{"grid": (1,), "block": (16, 16), **launch})
    assert str(error.value) == reason


def test_a_launch_takes_numpys_whole_numbers_and_lists() -> None:
    one: Any = np.int64(1)
    two: Any = np.int32(2)
    arguments: Any = ["A"]
    launch = Launch((one, two), [two, one], shared_bytes=two, over_read={"A": two}, arguments=arguments)
    assert (launch.grid, launch.block, launch.arguments) == ((1, 2, 1), (2, 1, 1), ("A",))
    shared_bytes, over_read = launch.shared_bytes, launch.over_read["A"]
    numbers = [*launch.grid_dim, *launch.block_dim, shared_bytes, over_read, Workspace("w", two).nbytes]
    assert {type(number) for number in numbers} == {int}


@pytest.mark.parametrize(("type", "value"), [("float32", 3.4e38), ("float16", 65519.0), ("float32", float("inf"))])
def test_a_scalar_may_be_whatever_its_type_holds(type: str, value: float) -> None:
    assert kernel(arguments=(Scalar(value, type),)).arguments == (Scalar(value, type),)


def test_a_plugin_that_returns_a_kernel_and_no_list_is_told_so() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=kernel()), "acme.fast", "acme-kernels")
    assert registry.complaints()[0].endswith("is set aside: mmcore_kernels returned Kernel, not a list")


def test_what_a_plugin_prints_does_not_reach_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy() -> list[Kernel]:
        print("hello")
        return [kernel()]

    Registry().add(SimpleNamespace(mmcore_kernels=hookimpl(noisy)), "acme.fast", "acme-kernels")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


@pytest.mark.parametrize(
    ("sizes", "of", "reason"),
    [
        (("q",), "block.x", "('q',) are not sizes of a problem"),
        ("n", "block.w", "a multiple of 'block.w' makes no sense"),
        ("n", 0, "a multiple of 0 makes no sense"),
    ],
)
def test_a_constraint_that_can_never_be_tested_is_rejected(sizes: Any, of: Any, reason: str) -> None:
    with pytest.raises(mmcore.InvalidKernel) as error:
        Multiple(sizes, of=of)
    assert reason in str(error.value)


@pytest.mark.parametrize("times", [0, -1, 0.5, True])
def test_a_multiple_is_a_whole_number_of_times(times: Any) -> None:
    with pytest.raises(mmcore.InvalidKernel, match=r"times block\.x makes no sense; give a whole number from 1"):
        Multiple("m", of="block.x", times=times)


def test_an_int_index_reaches_as_far_as_the_leading_dimension_takes_it() -> None:
    refusal = Int32Index().refusal
    assert refusal(Problem(40000, 40000, 10, lda=50000), Dim3(16, 16)) is None
    assert refusal(Problem(40000, 40000, 10, lda=60000), Dim3(16, 16)) == (
        "A has 2400000000 elements; the kernel's int indexes reach 2147483647"
    )


def test_one_number_means_a_square_block_unless_all_declared_blocks_are_flat() -> None:
    assert kernel().block("8") == (8, 8, 1)
    assert kernel(blocks=((128,),)).block("64") == (64, 1, 1)
    assert kernel().block((8, 4)) == kernel().block("8x4") == (8, 4, 1)
