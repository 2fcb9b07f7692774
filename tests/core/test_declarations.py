"""Declarations: defaults, launch rules, over-reads, arguments inferred from the source, refused declarations."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from mmcore import (
    Config,
    DeviceProperties,
    FlatBlock,
    InvalidKernel,
    Kernel,
    Launch,
    MmcoreError,
    Multiple,
    Problem,
    Scalar,
    Space,
    Square,
    SquareBlock,
    Struct,
    TensorMap,
    Workspace,
)
from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore.planning.plan import Plan, plan

NOTHING: Any = None
HALF: Any = 0.5
ALL: Any = "all"
EXACT = 'extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k) { }\n'


def declared(**changes: Any) -> Kernel:
    return Kernel(**{"name": "tests.own", "configs": [{"block": (16, 8)}], **changes})


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Return a function that declares a kernel with a source of a given text."""

    def write(text: str = EXACT, **changes: Any) -> Kernel:
        (tmp_path / "own.cu").write_text(text)
        return declared(**changes).located(tmp_path)

    return write


def planned(kernel: Kernel, m: int = 64, n: int = 64, k: int = 64, block: Any = None, **properties: Any) -> Plan:
    return plan(kernel, kernel.problem(m, n, k), kernel.config(block), DeviceProperties(**properties))


# Defaults


def test_a_name_and_a_config_are_enough() -> None:
    kernel = declared()
    assert kernel.source == Path("own.cu")
    assert (kernel.title, kernel.reference, kernel.known_bugs) == ("tests.own", "", ())
    maps = tuple(TensorMap("A", (8, 8), swizzle) for swizzle in (0, 32, 64, 128))
    assert declared(arguments=maps).arguments == maps


def test_a_relative_source_is_beside_the_plugin(tmp_path: Path) -> None:
    assert declared(source=Path("cuda/own.cu")).located(tmp_path).source == tmp_path / "cuda" / "own.cu"
    assert declared(source=tmp_path / "own.cu").located(Path("elsewhere")).source == tmp_path / "own.cu"


def test_the_only_function_is_launched_with_the_arguments_of_its_signature(written: Any) -> None:
    plan = planned(written())
    (launch,) = plan.launches
    assert plan.entry(launch) == "f"
    assert plan.arguments(launch) == ("A", "B", "C", "m", "n", "k")
    assert not plan.kernel.strided


@pytest.mark.parametrize(
    ("config", "grid"),
    [
        ({"block": (16, 8)}, (4, 13, 1)),
        ({"block": (16, 16), "TILE": 32}, (2, 4, 1)),
        ({"block": (256,), "BM": 128, "BN": 64, "BK": 8}, (1, 1, 1)),
    ],
)
def test_the_default_grid_has_columns_along_x(written: Any, config: dict[str, Any], grid: tuple[int, ...]) -> None:
    (launch,) = planned(written(configs=[config]), m=100, n=64).launches
    assert launch.grid_dim == grid
    assert launch.block_dim == written(configs=[config]).usual_configs[0].block


def test_a_grid_may_be_given_by_a_function_and_be_one_number_long(written: Any) -> None:
    (launch,) = planned(written(grid=lambda problem, config: (problem.m // config.block.x,)), m=64).launches
    assert launch.grid_dim == (4, 1, 1)


# Launch rules


def test_a_launch_rule_is_given_the_devices_multiprocessors(written: Any, device: Device) -> None:
    def persistent(problem: Problem, config: Config, properties: DeviceProperties) -> Launch:
        return Launch(grid=(2 * properties.multiprocessors,), block=config.block)

    assert planned(written(launch=persistent), multiprocessors=132).launches[0].grid_dim == (264, 1, 1)
    assert device.properties.multiprocessors == device.facts.get("multiprocessors", 132)


def test_a_launch_rule_of_version_0_1_is_refused_with_the_new_name_of_its_block(written: Any) -> None:
    def rule(problem: Problem, block: Any, limits: DeviceProperties) -> Launch:
        return Launch(grid=(problem.n // block.x,), block=block)

    with pytest.raises(InvalidKernel, match=r"no parameter 'x'; .* config\.block\.x \(test_declarations\.py:\d+, for"):
        planned(written(launch=rule))


class OddSequence(Sequence[Launch]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        raise KeyError("no launch")


class NoWords:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@dataclass(frozen=True)
class Answering:
    """A constraint that answers with this, or raises it."""

    answer: Any
    description: str = "whatever it is"

    def violation(self, problem: Problem, config: Config) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


PLACE = r"\(test_declarations\.py:\d+, for 64×300×64 with block=16x8\)$"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"grid": lambda problem, config: 1 // 0}, f"its launch rule failed: ZeroDivisionError: .* by zero {PLACE}"),
        ({"launch": lambda *asked: sys.exit(3)}, f"its launch rule failed: SystemExit: 3 {PLACE}"),
        ({"launch": lambda *asked: 7}, "its launch rule returned 7, not a Launch or a list of several"),
        ({"launch": lambda *asked: OddSequence()}, "its launch rule failed: KeyError: 'no launch'"),
        ({"launch": lambda *asked: NoWords()}, "its launch rule failed: RuntimeError: no words"),
        ({"grid": lambda problem: (1,)}, "its launch rule failed: TypeError"),
        ({"grid": lambda problem, config: 4}, "the grid 4 is not one to three whole numbers"),
        ({"grid": lambda problem, config: (0.5, 1)}, "is not one to three whole numbers"),
        ({"grid": lambda problem, config: (problem.m // 128,)}, r"its rule gives an empty 0×1 grid for 64×300×64"),
        (
            {"launch": lambda problem, config, device: None},
            "its launch rule returned None, not a Launch or a list of several",
        ),
        (
            {"launch": lambda problem, config, device: ()},
            r"its launch rule returned \(\), not a Launch or a list of several",
        ),
        ({"launch": lambda problem, config, device: Launch((1,), config)}, "the block Config.* is not one to three"),
        ({"launch": lambda *asked: Launch(ALL, (8,))}, f"its launch rule: the grid 'all' is not .*as .16, 16. {PLACE}"),
        (
            {"shared_bytes": lambda problem, config: -4},
            "its launch rule: shared_bytes is a whole number of bytes, not -4",
        ),
        ({"shared_bytes": lambda problem: 4}, "its launch rule failed: TypeError"),
        ({"over_read": {"D": 1}}, "an over-read of 1 elements behind 'D' makes no sense"),
        ({"over_read": {"A": -1}}, "an over-read of -1 elements behind 'A' makes no sense"),
        ({"over_read": lambda problem, config: None}, "its launch rule failed: TypeError"),
        ({"constraints": (Multiple("k", of="BK"),)}, "a constraint failed: AttributeError: .*no parameter 'BK'"),
        ({"constraints": (Answering(KeyError("n")),)}, f"a constraint failed: KeyError: 'n' {PLACE}"),
        (
            {"constraints": (Answering(1),)},
            "a constraint: it answers 1 instead of a reason of one line or None .for 64",
        ),
    ],
)
def test_a_rule_that_fails_is_reported_in_one_sentence(written: Any, rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(MmcoreError, match=rf"^tests\.own: .*{reason}") as raised:
        planned(written(**rule), n=300)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("declared", [48, lambda problem, config: problem.k * config.block.x // 32 * 4])
def test_dynamic_shared_memory_takes_no_launch_rule(written: Any, declared: Any) -> None:
    (launch,) = planned(written(shared_bytes=declared), n=24).launches
    assert (launch.shared_bytes, launch.grid_dim) == (48 if declared == 48 else 128, (2, 8, 1))


@pytest.mark.parametrize(
    ("further", "reason"),
    [
        ({"shared_bytes": -1}, "shared_bytes is a whole number of bytes or a function, not -1"),
        ({"shared_bytes": 1.5}, "shared_bytes is a whole number of bytes or a function, not 1.5"),
        ({"shared_bytes": 4, "launch": print}, "which says everything about a launch: leave out shared_bytes"),
        ({"grid": print, "over_read": "tiles", "launch": print}, "leave out grid and over_read"),
        ({"shared_bytes": 4, "call": print, "configs": ()}, "a library's call has no shared memory to declare"),
    ],
)
def test_shared_memory_that_makes_no_sense_is_refused(further: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKernel, match=re.escape(reason)):
        Kernel(**{"name": "acme.fast", "configs": [{"block": (8, 8)}], **further})


# Over-reads


@pytest.mark.parametrize(
    ("config", "sizes", "over_read"),
    [
        ({"block": (8, 8)}, (16, 16, 16), {"A": 0, "B": 0}),
        # A: rows 9 to 15 and columns 9 to 15 of the last tile: 15·9 + 16 - 81. The same for B.
        ({"block": (8, 8)}, (9, 9, 9), {"A": 70, "B": 70}),
        ({"block": (8, 8)}, (8, 8, 9), {"A": 7, "B": 56}),
        ({"block": (8, 8)}, (9, 8, 8), {"A": 56, "B": 0}),
        ({"block": (32,), "BM": 16, "BN": 8, "BK": 4}, (15, 8, 6), {"A": 8, "B": 16}),
    ],
)
def test_the_over_read_of_whole_tiles(
    written: Any, config: dict[str, Any], sizes: tuple[int, int, int], over_read: dict[str, int]
) -> None:
    (launch,) = planned(written(configs=[config], over_read="tiles"), *sizes).launches
    assert launch.over_read == over_read


def test_the_over_read_of_tiles_counts_the_gaps_between_rows_and_ends_where_the_grid_does(written: Any) -> None:
    kernel = written(EXACT.replace("int k", "int k, int lda"), configs=[{"block": (8, 8)}], over_read="tiles")
    problem = kernel.problem(9, 8, 8, lda=10)
    (launch,) = plan(kernel, problem, kernel.usual_configs[0], DeviceProperties()).launches
    # Row 15 begins at 150 and is read up to column 8; the matrix ends at 88.
    assert launch.over_read == {"A": 158 - 88, "B": 0}
    small = written(configs=[{"block": (8, 8)}], over_read="tiles", grid=lambda problem, config: (1, 1))
    assert planned(small, 24, 24, 24).launches[0].over_read == {"A": 0, "B": 0}


@pytest.mark.parametrize("over_read", [{"A": 3}, lambda problem, config: {"A": problem.m - 61}])
def test_an_over_read_is_a_number_or_a_function(written: Any, over_read: Any) -> None:
    assert planned(written(over_read=over_read)).over_read("A") == 3


# Macros and templates


def test_macros_are_texts_or_whole_numbers() -> None:
    defines: Any = {"BM": np.int64(64), "BN": 32, "NAME": "{BK}"}
    kernel = Kernel(name="acme.fast", configs=[{"block": (8, 8), "BK": 16}], defines=defines)
    macros = kernel.macros(kernel.problem(1, 1, 1), kernel.usual_configs[0])
    assert macros == {"BK": "16", "BM": "64", "BN": "32", "NAME": "16"}
    for wrong, sentence in (({"BM": 1.5}, 'is such as "BM": "128", not \'BM\': 1.5'), (["BM"], "not ['BM']")):
        with pytest.raises(InvalidKernel, match=re.escape(sentence)):
            Kernel(name="acme.fast", configs=[{"block": (8, 8)}], defines=cast(Any, wrong))


def test_a_number_among_the_arguments_is_named_as_a_scalar() -> None:
    for number, scalar in ((4, 'Scalar(4, "int32")'), (0.5, 'Scalar(0.5, "float32")')):
        with pytest.raises(InvalidKernel, match=re.escape(f"argument {number} is a number, which {scalar} passes")):
            Kernel(name="acme.fast", configs=[{"block": (8, 8)}], arguments=("A", "B", "C", cast(Any, number)))


def test_parameters_in_capitals_are_macros_unless_the_entry_names_them() -> None:
    configs = [{"block": (8, 8), "TILE": "{block.x}", "UNROLL": 4, "stages": 2}]
    kernel = declared(configs=configs, entry="f<{TILE}, {stages}>", defines={"WIDTH": "{n}", "HALF": "{block.y}/2"})
    config, problem = kernel.config("4"), kernel.problem(1, 2, 3)
    assert kernel.macros(problem, config) == {"UNROLL": "4", "WIDTH": "2", "HALF": "4/2"}
    assert kernel.expand(kernel.entry_named(), problem, config) == "f<4, 2>"
    one_in_another = declared(configs=[{"block": (8, 8), "T": 3, "TM": 4}], entry="f<{TM}>")
    assert one_in_another.macros(problem, one_in_another.config()) == {"T": "3"}


def test_a_template_over_its_tiles_is_one_kernel_with_many_configs(tmp_path: Path) -> None:
    source = """
    template <int BM, int BN>
    __global__ void tiled(const float* A, const float* B, float* C, size_t m, unsigned n, int k)
    {
        for (int i = threadIdx.x; i < BM * BN; i += blockDim.x) {
            const int row = blockIdx.y * BM + i / BN, column = blockIdx.x * BN + i % BN;
            float sum = 0.0f;
            for (int p = 0; p < k; ++p)
                sum += row < m && column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
            if (row < m && column < n)
                C[row * n + column] = sum;
        }
    }
    """
    (tmp_path / "tiled.cu").write_text(source)
    space = Space({"BM": (4, 8), "BN": (8, 16), "block": lambda config: (config.BM * config.BN // 2,)})
    kernel = Kernel(name="tests.tiled", configs=space, entry="tiled<{BM}, {BN}>").located(tmp_path)
    for config in kernel.all_configs:
        result = measure(Cell(kernel.name, 9, 17, 5, config.to_json()), open_device("emulator"), kernel)
        assert result.verified, result.failures()
        assert result.launched[0].entry == f"tiled<{config.BM}, {config.BN}>"
        assert result.config_id == f"BM{config.BM}-BN{config.BN}"


# What the source must say


@pytest.mark.parametrize(
    ("text", "changes", "reason"),
    [
        ("", {}, r"own\.cu has no __global__ function; entry= says which is launched"),
        (EXACT + EXACT.replace("f(", "g("), {}, r"own\.cu has f, g; entry= says which is launched"),
        (
            "template <int N> __global__ void f(float* C) { }",
            {},
            r'f in own\.cu is a template; .* such as "f<\{block\.x\}>"',
        ),
        (EXACT, {"entry": "g"}, r"own\.cu has no function g to read the arguments off; it has f"),
        (EXACT.replace("int k", "float* k"), {}, r"the parameter 'float\* k' of f has none of the usual names"),
        (EXACT.replace("float* C", "float C"), {}, "the parameter 'float C' of f has none of the usual names"),
    ],
)
def test_what_the_source_lacks_must_be_declared(written: Any, text: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKernel, match=f"^tests.own: {reason}"):
        planned(written(text, **changes))


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file or directory"), (b"\xff\xfe", "it is not UTF-8 text")]
)
def test_a_source_that_cannot_be_read(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "own.cu").write_bytes(content)
    with pytest.raises(InvalidKernel, match=f"its source .*own.cu cannot be read: {reason}"):
        planned(declared().located(tmp_path))


def test_only_a_function_that_takes_leading_dimensions_gets_gaps_between_rows(written: Any) -> None:
    assert not written().strided
    assert written(EXACT.replace("int k", "int k, int ldC")).strided
    assert written(arguments=("A", "B", "C", Scalar("lda", "int64"))).strided
    assert written(EXACT + EXACT.replace("f(", "g(").replace("int k", "int lda"), launch=lambda *all: None).strided


# Refused declarations

RULES = ("grid", "over_read")
AXES = "a tensor map has a box, extents and strides of as many axes"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        *(({"name": name}, f"{name!r} is not a kernel name") for name in ("own", "Acme.own", 3)),
        ({"configs": [{"BM": 8}]}, "a config needs a block"),
        ({"configs": [{"blok": (8,)}]}, r"'blok' is a number or a text, not \(8,\); did you mean block\?"),
        ({"column_major": True}, "column_major is such as 'B', not True"),
        ({"beta": None}, "beta is a number, not None"),
        ({"architecture": 90}, "its architecture must be a text of one line, not 90"),
        *(({"over_read": each}, f'"tiles", elements by matrix or a function, not {each!r}') for each in (3, "tile")),
        ({"options": (1,)}, r"its options are texts, unlike \(1,\)"),
        ({"arguments": (Scalar(5, "float31"),)}, "'float31' is not a type of a scalar argument"),
        ({"arguments": (Scalar(10**400, "float32"),)}, "0 is no float32"),
        ({"arguments": (Scalar(4.5),)}, "4.5 is no int32"),
        ({"arguments": (Scalar(-1, "uint8"),)}, "-1 is no uint8"),
        ({"arguments": (Scalar(2**63, "int64"),)}, "9223372036854775808 is no int64"),
        ({"arguments": (Scalar(math.inf),)}, "inf is no int32"),
        ({"arguments": (Scalar(NOTHING),)}, "None is no number, and cannot be a scalar argument"),
        ({"arguments": (Workspace("A", 4),)}, "a workspace cannot be called 'A': A, B and C are the matrices"),
        *(
            ({"arguments": (Workspace("parts", nbytes),)}, f"'parts' has {nbytes} bytes instead of a whole number")
            for nbytes in (HALF, -4)
        ),
        *(
            ({"min_compute_capability": each}, f"is a pair of whole numbers such as {re.escape(f'(9, 0), not {each}')}")
            for each in (("9", "0"), 9.0, (9,), (9, 0, 0), (9.0, 0))
        ),
        ({"configs": []}, "tests.own: there is no config"),
        ({"configs": [{"block": (16, 16, 0)}]}, r"tests.own: \(16, 16, 0\) is not a block"),
        ({"title": "two\nlines"}, "its title must be a text of one line"),
        ({"reference": None}, "its reference must be a text of one line, not None"),
        ({"source": None}, "tests.own is declared with a value of the wrong type"),
        ({"entry": "f<{block.w}>"}, "cannot be filled in: 'Dim3' object has no attribute 'w'"),
        ({"entry": "f<{BM}>"}, "cannot be filled in: 'BM' is no value of a launch"),
        ({"defines": {"WIDTH": "{"}}, "cannot be filled in"),
        ({"options": "-G"}, r"its options are several: \('-G',\) instead of '-G'"),
        ({"known_bugs": "it is slow"}, "its known_bugs are several"),
        (
            {"arguments": ("A", Scalar("SPLITS"))},
            r"'SPLITS' is none of A, .*; a config's parameter is Scalar\(lambda problem, config: config.SPLITS\)$",
        ),
        ({"arguments": ("A", "gamma")}, "argument 'gamma' is none of A, B, C, m, n, k, lda, ldb, ldc, alpha, beta"),
        ({"constraints": (FlatBlock,)}, "FlatBlock'> is no constraint; a call of it makes one"),
        ({"constraints": ("square",)}, "'square' is not a constraint"),
        ({"constraints": SquareBlock()}, "its constraints are several"),
        ({"grid": (1, 1)}, "its grid rule is not callable"),
        ({"launch": "f"}, "its launch rule is not callable"),
        *(({"launch": print, rule: print}, f"a launch rule, .*: leave out {rule}$") for rule in RULES),
        *(({field: "float12"}, "tests.own: 'float12' is not an element type") for field in ("dtype", "unit")),
        ({"algorithm": "winograd"}, "algorithm is \"strassen\" or left out, not 'winograd'"),
        ({"call": print, "grid": print}, r"a library is called or kernels are launched: \['grid', 'call'\]"),
        ({"call": 3}, "its call rule is not callable"),
        ({"build": 3, "arguments": ("A",)}, "its build rule is not callable"),
        ({"build": print}, "has no signature: it needs arguments="),
        ({"beta": math.nan}, "alpha and beta are numbers, alpha not 0, instead of 1.0 and nan"),
        ({"alpha": 0}, "alpha and beta are numbers, alpha not 0, instead of 0.0 and 0.0"),
        ({"dtype": "int8", "beta": 0.5}, "of whole numbers alpha is 1 and beta 0 or 1, not 1.0 and 0.5"),
        *(({"column_major": each}, f"column_major is such as 'B', not '{each}'") for each in "Db"),
        *(
            ({"arguments": (TensorMap("A", (8, 8), swizzle),)}, f"swizzle is 0, 32, 64 or 128 bytes, not {swizzle}$")
            for swizzle in (16, 48, 65, 256)
        ),
        ({"arguments": (TensorMap("A", (64,)),)}, rf"{AXES}, 1 to 5, not \(64,\), \(\) and \(\)$"),
        (
            {"arguments": (TensorMap("A", (8, 8, 8), extents=(4, 8, 8), strides=(64, 8)),)},
            rf"{AXES}, 1 to 5, not \(8, 8, 8\), \(4, 8, 8\) and \(64, 8\)$",
        ),
        (
            {"arguments": (TensorMap("A", (8, 8), extents=(8, 8), strides=(1, 8)),)},
            "^tests.own: a tensor map's last stride is 1, not 8$",
        ),
        ({"arguments": (TensorMap("D", (8, 8)),)}, "extents, strides and dtype it must give: 'D' is neither$"),
        (
            {"arguments": (TensorMap("parts", (8, 8), extents=(8, 8), strides=(8, 1), dtype="float31"),)},
            "^tests.own: 'float31' is not an element type; there are float16, .*, int32$",
        ),
        *(
            (
                {"arguments": (Struct((member,)),)},  # type: ignore[arg-type]
                rf"members are pointers, numbers and bytes, not {type(member).__name__}\(",
            )
            for member in (TensorMap("A", (8, 8)), Struct(("A",)))
        ),
        ({"arguments": (Struct(("D",)),)}, "argument 'D' is none of A, B, C, m, n, k, lda, ldb, ldc, alpha, beta$"),
        *(
            ({"initial_c": each, "beta": 1}, f'initial_c is "poison", or "zeros" where beta is 0, not {each!r}')
            for each in ("zeros", "ones")
        ),
        ({"architecture": "sm_90"}, "architecture 'sm_90' is not of the form 90 or 90a"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused_in_one_sentence(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKernel, match=reason) as raised:
        declared(**changes)
    assert "\n" not in str(raised.value)


# What users ask for


@pytest.mark.parametrize(
    ("configs", "asked", "found"),
    [
        ([{"block": (32, 32)}], "8", "b8"),
        ([{"block": (32, 32)}], 8, "b8"),
        ([{"block": (256,)}], "64", "b64x1"),
        ([{"block": (256,)}], "64x4", "b64x4"),
        ([{"block": (32, 32), "TILE": "{block.x}"}], [20, 20, 1], "b20"),
        ([{"block": (256,), "BM": 128}], "64", "b64x1-BM128"),
    ],
)
def test_a_block_as_users_give_it(configs: list[dict[str, Any]], asked: Any, found: str) -> None:
    assert declared(configs=configs).config(asked).id == found


def test_the_first_config_that_fits_is_taken_and_else_the_first() -> None:
    kernel = declared(configs=[{"block": (b, b)} for b in (32, 16, 8)], constraints=(Multiple("n", of="block.x"),))
    assert [kernel.fitting_config(kernel.problem(n, n, n)).id for n in (64, 48, 40, 41)] == ["b32", "b16", "b8", "b32"]
    assert kernel.square_problem(33).n == 40
    assert kernel.square_problem(33, kernel.config("32")).n == 64


@pytest.mark.parametrize(
    ("types", "accumulator", "output"),
    [
        ({"dtype": "float16"}, "float32", "float16"),
        ({"dtype": "bf16"}, "float32", "bfloat16"),
        ({"dtype": "bfloat16", "accumulator": "float32"}, "float32", "float32"),
        ({"dtype": "float16", "accumulator": "float16"}, "float16", "float16"),
        ({"dtype": "float16", "output": "float32"}, "float32", "float32"),
        ({"dtype": "float64"}, "float64", "float64"),
        ({}, "float32", "float32"),
    ],
)
def test_16_bit_numbers_are_summed_in_float32_by_default(types: dict[str, Any], accumulator: str, output: str) -> None:
    kernel = declared(**types)
    assert (kernel.accumulator, kernel.output) == (accumulator, output)


@pytest.mark.parametrize("entry", ["f<8>", "q::f<8>", "q::r::f", "::q::f<{block.x}>", "f <8>", "q::f<q::T<int>>"])
def test_arguments_are_read_off_the_function_that_an_entry_names(cu_file: Path, entry: str) -> None:
    cu_file.write_text("__global__ void g(float* C) {}\ntemplate <int N> __global__ void f(float* B, int lda) {}\n")
    kernel = Kernel(name="acme.own", source=cu_file, configs=[{"block": 8}], entry=entry)
    assert kernel.arguments_of(entry) == ("B", "lda")
    assert kernel.strided
    assert not replace(kernel, entry="q::g").strided


class AtMost:
    """Sizes up to 5, but not 3."""

    description = "n is at most 5, and not 3"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return None if problem.n <= 5 and problem.n != 3 else f"n = {problem.n}"


@pytest.mark.parametrize(
    ("constraint", "least", "found"),
    [
        *((Multiple("m", of=of), 1, found) for of, found in ((4096, 4096), (4097, 4097), (4098, 1))),
        *((AtMost(), least, found) for least, found in ((6, 5), (5, 5), (3, 4), (640, 5))),
    ],
)
def test_an_allowed_size_is_at_most_4096_further_or_the_next_below(constraint: Any, least: int, found: int) -> None:
    assert declared(constraints=(constraint,)).square_problem(least).n == found


@pytest.mark.parametrize(
    ("constraints", "found"),
    [
        ((Multiple(("m", "n"), 48), Multiple("k", 768)), (144, 144, 768)),
        ((Multiple("k", 256),), (256, 256, 256)),
        ((Square(), Multiple("k", 1024)), (1024, 1024, 1024)),
    ],
    ids=["a long k", "a square of at most twice the size", "squares alone"],
)
def test_the_least_problem_has_few_rows_and_columns_beside_a_long_k(constraints: Any, found: Any) -> None:
    problem = declared(constraints=constraints).least_problem(128)
    assert (problem.m, problem.n, problem.k) == found


def test_a_library_has_configs_only_where_it_declares_some() -> None:
    for declares, ids in (((), ["library"]), ([{"TILE": 4}], ["TILE4"])):
        assert [config.id for config in declared(configs=declares, call=print).usual_configs] == ids


def test_a_size_that_one_of_the_configs_allows_will_do() -> None:
    kernel = declared(configs=[{"block": (16, 16)}, {"block": (24, 24)}], constraints=(Multiple("n", of="block.x"),))
    assert kernel.square_problem(17).n == 24
    assert kernel.square_problem(17, kernel.usual_configs[0]).n == 32
    assert kernel.fitting_config(kernel.problem(1, 24, 1)).block.x == 24
    assert kernel.fitting_config(kernel.problem(1, 48, 1)).block.x == 16
    assert kernel.fitting_config(kernel.problem(1, 7, 1)).block.x == 16
