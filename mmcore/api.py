"""The Python API: :func:`kernels`, :func:`run` and :func:`matmul`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import InvalidProblem, KernelError
from mmcore.devices.choose import open_device, open_in_process
from mmcore.devices.base import Buffer, Device, DeviceProvider
from mmcore.devices.loaded import LoadedKernel
from mmcore.outcome import Outcome
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.geometry import Dim3, Shape
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.kernel.problem import Problem, three_sizes
from mmcore.registry import registry
from mmcore.runner import run_kernel


def kernels() -> dict[str, Kernel]:
    """Every registered kernel, by name."""
    return {name: registered.kernel for name, registered in registry().kernels.items()}


def device(spec: str = "auto") -> Device:
    """Open a device: "auto", "cuda", "cuda:1", "emulator" or a third party's; the same one each time.

    Raises:
        NoDevice: there is none such here.
    """
    return _open(spec)


def able_device(protocol: type) -> Device | None:
    """The first device here that does what a protocol asks for beyond a device's own; None where none does.

    Those without device time come first: to open a GPU only to learn that it cannot takes a second.
    """
    for name, provider in sorted(registry().providers.items(), key=lambda each: each[1].supports_timing):
        if provider.count() and isinstance(found := _open(name), protocol):
            return found
    return None


Block: TypeAlias = str | SupportsIndex | Shape | None

_Open: TypeAlias = Callable[[str, Mapping[str, DeviceProvider]], Device]
_OPENED: dict[tuple[_Open, str], Device] = {}


def _open(spec: str, how: _Open = open_device) -> Device:
    if not isinstance(spec, str):
        return how(spec, registry().providers)
    if (how, spec) not in _OPENED:
        _OPENED[how, spec] = how(spec, registry().providers)
    return _OPENED[how, spec]


def run(
    kernel: str | Kernel,
    size: SupportsIndex | None = None,
    *,
    m: SupportsIndex | None = None,
    n: SupportsIndex | None = None,
    k: SupportsIndex | None = None,
    block: Block = None,
    device: str = "auto",
    memory: str = "pageable",
    seed: int | None = None,
    force: bool = False,
    lda: int = 0,
    ldb: int = 0,
    ldc: int = 0,
    timeout: float | None = None,
) -> Outcome:
    """Run a kernel on fresh random inputs, verify its product and, on a GPU, time it.

    Args:
        kernel: a registered kernel's name, such as "upc.kernel11", or any kernel itself.
        size: m = n = k; or give all three of ``m``, ``n`` and ``k``.
        m, n, k: C is m×n, A is m×k, B is k×n.
        block: threads per block: 16 (for 16×16), "32x8" or (32, 8); the kernel's first block that fits when None.
        device: "auto" (the first GPU, else the emulator), "cuda", "cuda:1", "emulator" or a third party's.
        memory: host memory of the copies in the global time, "pageable" or "pinned".
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints, to see what happens.
        lda, ldb, ldc: leading dimensions in elements; as long as a row when 0.
        timeout: seconds after which a kernel that is still running is stopped, from now; never when None.

    Returns:
        The outcome; its times are None on a device that keeps none.

    Raises:
        MmcoreError: the request cannot be carried out; one sentence says why. A wrong product is no error but an
            outcome whose ``verified`` is false.
    """
    found, problem, shape = requested(kernel, size, m=m, n=n, k=k, block=block, lda=lda, ldb=ldb, ldc=ldc)
    opened = _open(device)
    with opened.deadline.within(timeout):
        return run_kernel(found, problem, shape, opened, memory=memory, seed=seed, force=force)


def requested(
    kernel: str | Kernel,
    size: SupportsIndex | None,
    *,
    m: SupportsIndex | None,
    n: SupportsIndex | None,
    k: SupportsIndex | None,
    block: Block,
    lda: int,
    ldb: int,
    ldc: int,
) -> tuple[Kernel, Problem, Dim3]:
    """Kernel, problem and block that the arguments of :func:`run` ask for.

    Raises:
        MmcoreError: they ask for nothing that can be.
    """
    found = _kernel(kernel)
    problem = found.problem(*three_sizes(size, m, n, k), lda=lda, ldb=ldb, ldc=ldc)  # type: ignore[arg-type]
    return found, problem, found.fitting_block(problem) if block is None else found.block(block)


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    kernel: str | Kernel = "poznan.v3",
    block: Block = 16,
    device: str = "auto",
) -> Any:
    """The product of two matrices, as a kernel computes it: nothing is verified here but that no access goes astray.

    Whether the kernel is right is what :func:`run` tells.

    Args:
        a: m×k, of the kernel's element type. A numpy array with any strides (packed once if its rows are not
            contiguous), or memory on a GPU (PyTorch, CuPy: DLPack or ``__cuda_array_interface__``), used in place.
        b: k×n, likewise.
        out: m×n, receives the product: A·B, or ``out`` + A·B for a kernel that accumulates. Only its elements are
            written, not what lies between the rows of a slice. A new array (of zeros before accumulating) when None.
        kernel: a registered kernel's name, or any kernel itself.
        block: threads per block, as for :func:`run`.
        device: where to run it; arrays on a GPU run there.

    Returns:
        ``out``, or the new m×n array.

    Raises:
        InvalidProblem: the shapes, types or places of the arrays do not fit each other, the kernel or the device.
        ConstraintViolation: the kernel's launch rule forbids this product.
        KernelError: the launch failed or left its memory; ``out`` is unchanged.
    """
    found = _kernel(kernel)
    on_gpu = [_on_gpu(array) for array in (a, b, out) if array is not None]
    if any(on_gpu):
        if not all(on_gpu):
            raise InvalidProblem("some arrays are on a GPU and some are not")
        return _matmul_in_place(found, a, b, out, block, device)
    return _matmul_numpy(found, a, b, out, block, _open(device))


def _kernel(kernel: str | Kernel) -> Kernel:
    return kernel if isinstance(kernel, Kernel) else registry().kernel(kernel)


def _planned(found: Kernel, problem: Problem, block: Block, device: Device) -> Plan:
    return plan(found, problem, found.fitting_block(problem) if block is None else found.block(block), device.limits)


def _on_gpu(array: object) -> bool:
    if hasattr(array, "__cuda_array_interface__"):
        return True
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and not isinstance(array, np.ndarray) and int(place()[0]) != _DLPACK_CPU


_DLPACK_CPU = 1


def _where(array: Any) -> str:
    """The GPU that an array lies on; the first, where its interface does not tell."""
    place = getattr(array, "__dlpack_device__", None)
    return f"cuda:{int(place()[1])}" if place is not None else "cuda"


def _shape(found: Kernel, a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...] | None) -> tuple[int, int, int]:
    for label, shape in (("A", a), ("B", b)):
        if len(shape) != 2:
            raise InvalidProblem(f"{label} must have two dimensions, but has shape {shape}")
    if a[1] != b[0]:
        raise InvalidProblem(f"A is {a[0]}×{a[1]} and B is {b[0]}×{b[1]}; A's columns must be as many as B's rows")
    if out is not None and out != (a[0], b[1]):
        raise InvalidProblem(f"the product is {a[0]}×{b[1]}, but out has shape {out}")
    return a[0], b[1], a[1]


def _check_type(found: Kernel, label: str, name: str, wanted: str) -> None:
    if name not in (wanted, dtype_named(wanted).storage):
        raise InvalidProblem(f"{found.name} takes {wanted}, but {label} is {name}")


def _matmul_numpy(found: Kernel, a: Any, b: Any, out: Any, block: Block, device: Device) -> Any:
    for label, array in (("A", a), ("B", b), ("out", out)):
        if label == "out" and array is None:
            continue
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
            raise InvalidProblem(f"{label} is a {type(array).__name__}, not an array")
        if not array.dtype.isnative:
            raise InvalidProblem(
                f"{label} holds {array.dtype.str} elements, whose bytes are in another order than here"
            )
    _check_type(found, "A", a.dtype.name, found.dtype)
    _check_type(found, "B", b.dtype.name, found.dtype)
    m, n, k = _shape(found, a.shape, b.shape, None if out is None else out.shape)
    if out is None:
        out = np.zeros((m, n), dtype_named(found.output).storage if found.output != a.dtype.name else a.dtype)
    _check_type(found, "out", out.dtype.name, found.output)
    if not out.flags.writeable:
        raise InvalidProblem("out is read-only")
    planned = _planned(found, found.problem(m, n, k), block, device)
    with LoadedKernel(planned, device) as prepared:
        host: dict[str, NDArray[Any]] = {"A": np.ascontiguousarray(a), "B": np.ascontiguousarray(b)}
        if found.accumulate:
            host["C"] = np.ascontiguousarray(out)
        prepared.upload({label: array.reshape(-1) for label, array in host.items()})
        _launch(prepared)
        result = np.empty((m, n), out.dtype)
        prepared.buffers["C"].download(result.reshape(-1))
    out[...] = result
    return out


def _matmul_in_place(found: Kernel, a: Any, b: Any, out: Any, block: Block, spec: str) -> Any:
    # The arrays' memory is this process's.
    device = _open(_where(a) if spec == "auto" else spec, open_in_process)
    if out is None:
        if found.output != found.dtype:
            raise InvalidProblem(f"{found.name} gives {found.output}; pass an out array of that type")
        out = _zeros_like(a, a.shape[0], b.shape[1])
    buffers: dict[str, Buffer] = {}
    shapes, leading = {}, {}
    for label, array in (("A", a), ("B", b), ("C", out)):
        buffers[label], shapes[label], strides, name = device.borrow(label, array)
        _check_type(found, label, name, found.output if label == "C" else found.dtype)
        leading[label] = _leading(found, label, shapes[label], strides)
    m, n, k = _shape(found, shapes["A"], shapes["B"], shapes["C"])
    problem = found.problem(m, n, k, lda=leading["A"], ldb=leading["B"], ldc=leading["C"])
    planned = _planned(found, problem, block, device)
    for label in "AB":
        if planned.over_read(label):
            raise InvalidProblem(
                f"{found.name} reads {planned.over_read(label)} elements past the end of {label}, which need not be "
                "the caller's own; pass numpy arrays, or take a kernel that stays inside"
            )
    with LoadedKernel(planned, device, buffers) as prepared:
        _launch(prepared)
    return out


def _leading(found: Kernel, label: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Leading dimension of an array on a GPU, which is not copied and so must be laid out as the kernel reads it."""
    if strides is None or len(shape) != 2 or min(shape) == 0:
        return 0
    row = strides[0] if shape[0] > 1 else shape[1]
    if (shape[1] > 1 and strides[1] != 1) or row < shape[1]:
        raise InvalidProblem(f"{label} is not stored row by row, and on a GPU it is used where it lies")
    if row != shape[1] and not found.strided:
        raise InvalidProblem(
            f"{found.name} takes no leading dimension, but the rows of {label} lie {row} elements apart"
        )
    return row


def _zeros_like(array: Any, rows: int, columns: int) -> Any:
    if hasattr(array, "new_zeros"):
        return array.new_zeros((rows, columns))
    if hasattr(array, "__array_function__"):
        return np.zeros_like(array, shape=(rows, columns))
    raise InvalidProblem(f"how to make a new {type(array).__name__} is not known; pass out")


def _launch(prepared: LoadedKernel) -> None:
    violations = prepared.run()
    if violations:
        raise KernelError(f"{prepared.plan.kernel.name}: {violations[0].message}")
