"""The element types of matrices that a .cu file passes as tensor maps."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore_sources.cuda_file.inference.infer import infer
from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred, kernel
from tests.sources.test_tensor_maps import BY_VALUE, FILLED, RETURNED, WRAPPED, source

pytestmark = pytest.mark.usefixtures("folder")
RAW = FILLED.replace("float *a, float *b", "void *a, void *b")
BYTES = {
    "(cuuint64_t)w, (cuuint64_t)h": "4 * w, h",
    "FLOAT32": "UINT8",
    "made<BM, BK>": "made<BM, 4 * BK>",
    "made<BN, BK>": "made<BN, 4 * BK>",
}


def line_of_encoding(text: str) -> int:
    return 1 + text[: text.index("cuTensorMapEncodeTiled")].count("\n")


@pytest.mark.parametrize("host", [RETURNED, WRAPPED, FILLED], ids=["pointer", "template", "void"])
@pytest.mark.parametrize("kind", ["INT32", "BFLOAT16", "UINT64", "TFLOAT32_FTZ"])
def test_elements_are_those_of_the_hosts_pointer_whatever_the_map_says(host: str, kind: str) -> None:
    found = inferred(source(host.replace("FLOAT32", kind)))
    assert found.attributes["dtype"] == "float32"
    (note,) = (each for each in found.notes if each.what == "elements of A")
    assert note.why.startswith("the type of the host's pointer in line")


@pytest.mark.parametrize(
    ("ptx", "dtype"),
    [
        ("f32.f16.f16", "float16"),
        ("f32.bf16.bf16", "bfloat16"),
        ("f32.tf32.tf32", "tf32"),
        ("s32.s8.s8", "int8"),
        ("s32.u8.u8", "uint8"),
        ("f32.e4m3.e4m3", "float8_e4m3fn"),
        ('" ".f32.e5m2.e5m2', "float8_e5m2"),
    ],
)
def test_elements_behind_an_untyped_pointer_are_those_that_tensor_cores_multiply(ptx: str, dtype: str) -> None:
    product = (
        f'asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.{ptx} {{%0}}, %1, %2, 1;" : "+f"(d) : "l"(a), "l"(b));'
    )
    function = f"__device__ void multiply(float &d, uint64_t a, uint64_t b) {{ {product} }}\n__global__ void product"
    changes = {**BY_VALUE, "__global__ void product": function, "BK = 8": "BK = 16"}
    found = inferred(source(RAW.replace("FLOAT32", "UINT8"), changes))
    assert found.attributes["dtype"] == dtype
    (note,) = (each for each in found.notes if each.what == "elements of A")
    assert note.why == "what the source's wgmma instructions multiply"


def test_a_map_of_another_type_of_the_same_size_is_a_warning_at_its_line(folder: Path) -> None:
    text = source(RETURNED.replace("FLOAT32", "INT32"))
    (folder / "my.cu").write_text(text)
    output = command(*shlex.split("run my.cu --device emulator --size 64")).output
    encodes = f"line {line_of_encoding(text)} encodes the tensor map of A and B with CU_TENSOR_MAP_DATA_TYPE_INT32"
    assert f"warning: {encodes}, and the elements are float32" in output
    assert "TEST PASS" in output


@pytest.mark.parametrize("kind", ["FLOAT32", "UINT32", "TFLOAT32"])
def test_a_map_of_the_elements_bits_has_no_warning(kind: str) -> None:
    assert inferred(source(RETURNED.replace("FLOAT32", kind))).warnings == ()


def test_a_map_of_elements_of_another_size_is_a_fault_with_the_right_type(folder: Path) -> None:
    text = source(RETURNED.replace("FLOAT32", "FLOAT16"))
    (folder / "my.cu").write_text(text)
    result = command(*shlex.split("run my.cu --device emulator --size 64 -q"))
    fault = "the tensor map of A has elements of CU_TENSOR_MAP_DATA_TYPE_FLOAT16, and A has float32: 16 bits, not 32"
    assert f"wrong-type at my.cu:{line_of_encoding(text)}: {fault}" in result.output
    assert "hint: with CU_TENSOR_MAP_DATA_TYPE_FLOAT32 in the tensor map of A" in result.output
    assert result.exit_code == 1


def test_a_map_of_bytes_with_extents_in_bytes_is_right(folder: Path) -> None:
    text = source(RETURNED, {**BYTES, **BY_VALUE, "step * BK,": "4 * step * BK,"})
    assert kernel(text).dtype == "float32"
    (folder / "my.cu").write_text(text)
    output = command(*shlex.split("run my.cu --device emulator --size 64 -q")).output
    assert "TEST PASS" in output
    assert command(*shlex.split("new-plugin acme.tma --from my.cu")).exit_code == 0
    (module,) = folder.rglob("tma.py")
    assert 'dtype="uint8"' in module.read_text()


def test_products_in_a_header_show_the_types_of_elements_and_sums() -> None:
    opcode = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    product = f'asm("{opcode} {{%0}}, {{%1}}, {{%2}}, {{%0}};" : "+f"(d) : "r"(a), "r"(b));'
    header = f"__device__ void multiply(float &d, unsigned a, unsigned b) {{ {product} }}\n"
    text = source(RAW.replace("FLOAT32", "UINT16"), {**BY_VALUE, "sum +=": "multiply(sum, 0, 0); sum +="})
    found = infer(Path("my.cu"), text, {}, headers=[("mma.cuh", header)])
    reasons = {each.what: (each.value, each.why) for each in found.notes}
    assert reasons["elements of A"] == ("float16", "what the source's mma instructions multiply")
    assert reasons["sums in"] == ("float32", "the type of the source's mma instructions")
