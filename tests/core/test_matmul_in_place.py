"""``matmul`` of arrays on a GPU, which are used in place; the GPUs here are emulators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import mmcore
from mmcore import InvalidProblem, Kernel
from mmcore.devices.base import Buffer
from mmcore.executor import worker
from mmcore_emulator.adapter.device import EmulatedBuffer, Emulator
from tests.core.test_api import normal
from tests.kernel_sources import kernel_source

RIGHT = kernel_source("leading_dimensions")
PACKED = "#define lda k\n#define ldb n\n#define ldc n\n"


class OnGpu:
    """An array in the memory of a device, with a gap between its rows."""

    def __init__(self, device: Emulator, content: Any, gap: int = 0, order: Literal["C", "F"] = "C") -> None:
        self.shape, self.dtype, self._order = content.shape, content.dtype, order
        padded = np.pad(content, [(0, 0)] * (content.ndim - 1) + [(0, gap)], constant_values=-7)
        self.strides = tuple(each // content.itemsize for each in np.asarray(padded, order=order).strides)
        self._padded, self.device = padded.shape, device
        self.buffer: EmulatedBuffer = device.allocate("array", padded.nbytes)
        self.buffer.upload(np.ascontiguousarray(padded.ravel(order)))

    @property
    def whole(self) -> Any:
        """The content of the device's memory, gaps included."""
        content = np.empty(int(np.prod(self._padded)), self.dtype)
        self.buffer.download(content)
        return content.reshape(self._padded, order=self._order)

    @property
    def content(self) -> Any:
        return self.whole[..., : self.shape[-1]]


class WithInterface(OnGpu):
    """An array like CuPy's first ones, which does not name its GPU."""

    __cuda_array_interface__: ClassVar = {"version": 3}

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        assert function is np.zeros_like
        return type(self)(self.device, np.zeros(keywords["shape"], self.dtype))


class WithDlpack(OnGpu):
    """An array like PyTorch's."""

    place = (2, 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def new_zeros(self, shape: tuple[int, ...]) -> Any:
        return type(self)(self.device, np.zeros(shape, self.dtype))


class WithoutZeros(OnGpu):
    """An array type that offers only ``__cuda_array_interface__``."""

    __cuda_array_interface__: ClassVar = {"version": 3}


class EmulatedGpu(Emulator):
    """A device that accepts arrays in its memory."""

    def borrow(self, label: str, array: Any) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        if getattr(array, "device", None) is not self:
            raise InvalidProblem(f"{label} is on another GPU")
        strides = None if array.strides == (array.shape[-1], 1) else array.strides
        return array.buffer, array.shape, strides, array.dtype.name


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Register two GPUs; "cuda" means the first."""
    first, second = EmulatedGpu(), EmulatedGpu()
    for name, device in (("cuda", first), ("cuda:0", first), ("cuda:1", second)):
        monkeypatch.setitem(worker._devices, name, device)
    return SimpleNamespace(first=first, second=second)


@pytest.fixture
def written(cu_file: Path) -> Callable[..., Kernel]:
    """Return a function that writes a right kernel; a ``strided`` one has leading dimensions as arguments."""

    def write(*, strided: bool = False, out: str = "float", **changes: Any) -> Kernel:
        text = RIGHT.replace("LEADING", ", int lda, int ldb, int ldc") if strided else PACKED + RIGHT
        cu_file.write_text(text.replace("LEADING", "").replace("OUT", out))
        return Kernel(**{"name": "tests.f", "source": cu_file, "configs": [{"block": (8, 8)}], **changes})

    return write


def test_the_product_is_written_to_out_on_its_gpu(gpus: SimpleNamespace) -> None:
    a, b = normal(9, 5), normal(5, 11)
    left, right, out = (WithInterface(gpus.first, each) for each in (a, b, np.zeros((9, 11), np.float32)))
    assert mmcore.matmul(left, right, out, kernel="upc.kernel01", block=8) is out
    np.testing.assert_allclose(out.content, a @ b, rtol=0, atol=1e-5)


def test_a_product_is_made_on_the_gpu_of_the_arrays_or_the_one_that_is_named(gpus: SimpleNamespace) -> None:
    a, b = normal(9, 5), normal(5, 11)
    product = mmcore.matmul(WithDlpack(gpus.second, a), WithDlpack(gpus.second, b), kernel="upc.kernel01", block=8)
    assert product.device is gpus.second
    np.testing.assert_allclose(product.content, a @ b, rtol=0, atol=1e-5)
    left, right = WithInterface(gpus.second, a), WithInterface(gpus.second, b)
    mmcore.matmul(left, right, kernel="upc.kernel01", device="cuda:1")
    with pytest.raises(InvalidProblem, match="A is on another GPU"):
        mmcore.matmul(left, right, kernel="upc.kernel01", device="cuda:0")


def test_an_array_that_dlpack_has_on_the_host_is_on_no_gpu(gpus: SimpleNamespace) -> None:
    array = WithDlpack(gpus.first, normal(8, 8))
    array.place = (1, 0)
    with pytest.raises(InvalidProblem, match="A is a WithDlpack, not an array"):
        mmcore.matmul(array, normal(8, 8), device="emulator")


def test_arrays_on_a_gpu_and_arrays_on_the_host_are_not_mixed(gpus: SimpleNamespace) -> None:
    for which in range(3):
        arrays: list[Any] = [normal(8, 8) for _ in range(3)]
        arrays[which] = WithInterface(gpus.first, arrays[which])
        with pytest.raises(InvalidProblem, match=r"^some arrays are on a GPU and some are not$"):
            mmcore.matmul(*arrays, kernel="upc.kernel01")


@pytest.mark.parametrize("kind", [WithInterface, WithDlpack])
def test_a_kernel_that_accumulates_starts_from_zeros(gpus: SimpleNamespace, kind: type[OnGpu]) -> None:
    a, b = normal(32, 32, dtype=np.float64), normal(32, 32, dtype=np.float64)
    on_gpu = [kind(gpus.second, each) for each in (a, b)]
    product = mmcore.matmul(*on_gpu, kernel="lezione9.kernel1", block=32, device="cuda:1")
    assert type(product) is kind
    np.testing.assert_allclose(product.content, a @ b, rtol=0, atol=1e-12)


def test_a_new_array_is_made_only_of_a_known_type(gpus: SimpleNamespace, written: Callable[..., Kernel]) -> None:
    a, b = normal(8, 8), normal(8, 8)
    with pytest.raises(InvalidProblem, match=r"^mmcore cannot make a new WithoutZeros; pass out$"):
        mmcore.matmul(*(WithoutZeros(gpus.first, each) for each in (a, b)), kernel="upc.kernel01")
    wide, left, right = (
        written(out="double", accumulator="float64"),
        *(WithInterface(gpus.first, each) for each in (a, b)),
    )
    with pytest.raises(InvalidProblem, match=r"^tests\.f gives float64; pass an out array of that type$"):
        mmcore.matmul(left, right, kernel=wide)
    with pytest.raises(InvalidProblem, match=r"^tests\.f takes float64, but C is float32$"):
        mmcore.matmul(left, right, left, kernel=wide)
    out = mmcore.matmul(left, right, WithInterface(gpus.first, np.zeros((8, 8))), kernel=wide)
    np.testing.assert_allclose(out.content, a @ b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("gaps", [(3, 0, 0), (0, 3, 0), (0, 0, 3), (1, 2, 3)])
def test_a_kernel_with_leading_dimensions_takes_rows_with_gaps_and_leaves_the_gaps(
    gpus: SimpleNamespace, written: Callable[..., Kernel], gaps: tuple[int, int, int]
) -> None:
    a, b = normal(9, 5), normal(5, 11)
    contents = (a, b, np.zeros((9, 11), np.float32))
    on_gpu = [WithInterface(gpus.first, *each) for each in zip(contents, gaps, strict=True)]
    out = mmcore.matmul(*on_gpu, kernel=written(strided=True))
    np.testing.assert_allclose(out.content, a @ b, rtol=0, atol=1e-5)
    assert (out.whole[:, 11:] == -7).all()


@pytest.mark.parametrize(("which", "n"), [(0, 8), (1, 8), (2, 8), (0, 2)])
def test_strided_rows_may_be_refused(gpus: SimpleNamespace, written: Callable[..., Kernel], which: int, n: int) -> None:
    on_gpu = [WithInterface(gpus.first, normal(n, n), gap=3 if label == which else 0) for label in range(3)]
    matrix = "ABC"[which]
    said = f"^tests.f takes no ld{matrix.lower()}, but the rows of {matrix} lie {n + 3} elements apart$"
    with pytest.raises(InvalidProblem, match=said):
        mmcore.matmul(*on_gpu, kernel=written())


@pytest.mark.parametrize(
    ("shape", "strides"), [((8, 8), (1, 8)), ((8, 8), (4, 1)), ((8, 8), (16, 2)), ((8, 2), (4, 2)), ((2, 8), (1, 2))]
)
def test_a_matrix_that_is_not_stored_row_by_row_is_refused(
    gpus: SimpleNamespace, written: Callable[..., Kernel], shape: tuple[int, int], strides: tuple[int, int]
) -> None:
    a, b = WithInterface(gpus.first, normal(8, shape[0])), WithInterface(gpus.first, normal(*shape))
    b.strides = strides
    with pytest.raises(InvalidProblem, match=r"^B is not stored row by row, and on a GPU it is used where it lies$"):
        mmcore.matmul(a, b, kernel=written(strided=True))


def test_strides_of_a_single_row_or_column_are_ignored(gpus: SimpleNamespace, written: Callable[..., Kernel]) -> None:
    row, column, out = normal(1, 8), normal(8, 1), np.zeros((1, 1), np.float32)
    on_gpu = [WithInterface(gpus.first, each) for each in (row, column, out)]
    on_gpu[0].strides, on_gpu[1].strides, on_gpu[2].strides = (3, 1), (1, 5), (9, 9)
    product = mmcore.matmul(*on_gpu, kernel=written())
    np.testing.assert_allclose(product.content, row @ column, rtol=0, atol=1e-5)


@pytest.mark.parametrize("matrix", ["A", "B"])
def test_over_reads_of_arrays_are_refused(gpus: SimpleNamespace, written: Callable[..., Kernel], matrix: str) -> None:
    a, b = (WithInterface(gpus.first, normal(8, 8)) for _ in range(2))
    with pytest.raises(InvalidProblem, match=f"^tests.f reads 3 elements past the end of {matrix}, which may belong"):
        mmcore.matmul(a, b, kernel=written(over_read={matrix: 3}))


def test_sizes_that_do_not_fit_are_refused(gpus: SimpleNamespace) -> None:
    a, b, flat = (WithInterface(gpus.first, normal(*shape)) for shape in ((8, 5), (4, 8), (8,)))
    with pytest.raises(InvalidProblem, match=r"^A is 8×5 and B is 4×8; A's columns must be as many as B's rows$"):
        mmcore.matmul(a, b, kernel="upc.kernel01")
    with pytest.raises(InvalidProblem, match=r"^B must have two dimensions, but has shape \(8,\)$"):
        mmcore.matmul(a, flat, a, kernel="upc.kernel01")


def test_matrices_by_columns_are_accepted(gpus: SimpleNamespace, written: Callable[..., Kernel], cu_file: Path) -> None:
    a, b, zeros = normal(9, 5), normal(5, 11), np.zeros((9, 11), np.float32)
    kernel = written(strided=True, column_major="B")
    cu_file.write_text(cu_file.read_text().replace("B[p * ldb + column]", "B[p + column * ldb]"))
    arrays = [WithInterface(gpus.first, a), WithInterface(gpus.first, b, order="F"), WithInterface(gpus.first, zeros)]
    np.testing.assert_allclose(mmcore.matmul(*arrays, kernel=kernel).content, a @ b, rtol=0, atol=1e-5)
    arrays[1] = WithInterface(gpus.first, b)
    with pytest.raises(InvalidProblem, match=r"^B is not stored column by column, and on a GPU it is used where it "):
        mmcore.matmul(*arrays, kernel=kernel)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_built_code_needs_alignment_of_16(gpus: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    arrays = [WithInterface(gpus.first, normal(8, 8)) for _ in range(3)]
    kernel = Kernel(
        name="tests.built", configs=[{"block": 8}], build=lambda *asked: None, arguments=("A", "B", "C"), entry="f"
    )
    monkeypatch.setattr(arrays[which], "buffer", SimpleNamespace(address=arrays[which].buffer.address + 8))
    said = f"^{'ABC'[which]} begins at no multiple of 16 bytes, as tests.built is built for$"
    with pytest.raises(InvalidProblem, match=said):
        mmcore.matmul(*arrays, kernel=kernel)
