"""The Python API: :func:`kernels`, :func:`run` and :func:`matmul`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from mmcore.cell import Cell, KernelReference, brief_timings, is_file, referenced_kernel
from mmcore.devices.base import Buffer, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import InvalidProblem, KernelError
from mmcore.executor import measure_cell
from mmcore.executor.worker import opened
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Shape
from mmcore.kernel.problem import Problem, dtype_named, three_sizes
from mmcore.planning.plan import Plan, plan
from mmcore.registry import registry
from mmcore.result import Result

_DLPACK_CPU = 1
_ALIGNMENT = 16  # bytes of the widest load, which code that is built may make anywhere
Block: TypeAlias = str | SupportsIndex | Shape | None


def kernels() -> dict[str, Kernel]:
    """Every registered kernel, by name."""
    return {name: registered.item for name, registered in registry().kernels.items()}


def run(
    kernel: KernelReference | Kernel,
    size: SupportsIndex | None = None,
    *,
    memory: str = "pageable",
    device: str = "auto",
    **launch: Any,
) -> Result:
    """Run a kernel on fresh random inputs, verify its product and, on a GPU, time it.

    Args:
        kernel: a registered kernel's name, the path of a .cu file, or any kernel itself, which runs in this process.
        size: m = n = k; or give all three of ``m``, ``n`` and ``k``.
        memory: host memory of the copies in the end-to-end time, "pageable" or "pinned".
        device: "auto" (the first GPU, else the emulator), "cuda", "cuda:1", "emulator" or a third party's.
        launch: as :func:`cell` takes it.

    Returns:
        The result; ``verified`` is false for a wrong product, and a device without device time gives no times.

    Raises:
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    asked, nameless = cell(kernel, size, device=device, timings=brief_timings(memory), **launch)
    return measure_cell(asked, kernel=nameless)


def cell(
    kernel: KernelReference | Kernel,
    size: SupportsIndex | None = None,
    *,
    m: SupportsIndex | None = None,
    n: SupportsIndex | None = None,
    k: SupportsIndex | None = None,
    block: Block = None,
    config: Mapping[str, Any] | None = None,
    **further: Any,
) -> tuple[Cell, Kernel | None]:
    """The cell that some arguments ask for, and the kernel itself where it has no name that the cell could hold.

    Args:
        kernel: as a cell names it, or any kernel itself.
        size, m, n, k: C is m×n, A is m×k, B is k×n; give ``size`` (m = n = k) or all three.
        block: threads per block: 16 (for 16×16), "32x8" or (32, 8).
        config: other parameters by name; the kernel's first config that fits when neither is given.
        further: attributes of the cell: ``device``, ``seed``, ``force``, ``lda``, ``ldb``, ``ldc``, ``timeout``.

    Raises:
        MmcoreError: they ask for nothing that can be.
    """
    found = kernel if isinstance(kernel, Kernel) else referenced_kernel(kernel)
    kernel = registry().reference(found) if not isinstance(kernel, Kernel) and is_file(kernel) else kernel
    leading = {name: further.pop(name) for name in ("lda", "ldb", "ldc") if name in further}
    problem = found.problem(*three_sizes(size, m, n, k), **leading)  # type: ignore[arg-type]
    parameters = _parameters(block, config)
    further |= {name: getattr(problem, name) for name, given in leading.items() if given}
    name, nameless = (kernel.name, kernel) if isinstance(kernel, Kernel) else (kernel, None)
    values = found.config(**parameters).to_json() if parameters else {}
    return Cell(name, problem.m, problem.n, problem.k, config=values, **further), nameless


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    kernel: str | Kernel = "poznan.v3",
    block: Block = None,
    config: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Any:
    """The product of two matrices, as a kernel computes it, in this process; only :func:`run` verifies it.

    Args:
        a: m×k, of the kernel's element type. A numpy array with any strides (packed once if its rows are not
            contiguous), or memory on a GPU (PyTorch, CuPy: DLPack or ``__cuda_array_interface__``), used in place.
        b: k×n, likewise.
        out: m×n, receives the kernel's α·A·B + β·C, C being its old value where β is not 0. Only its elements are
            written, not what lies between the rows of a slice. A new array (of zeros before accumulating) when None.
        kernel: a registered kernel's name, or any kernel itself.
        block, config: as for :func:`cell`.
        device: where to run it; arrays on a GPU run there.

    Returns:
        ``out``, or the new m×n array.

    Raises:
        InvalidProblem: the shapes, types or places of the arrays do not fit each other, the kernel or the device.
        ConstraintViolation: the kernel's constraints forbid this product.
        KernelError: the launch failed or left its memory; ``out`` is unchanged.
    """
    found = kernel if isinstance(kernel, Kernel) else registry().kernel(kernel)
    parameters = _parameters(block, config)
    on_gpu = [_on_gpu(array) for array in (a, b, out) if array is not None]
    if any(on_gpu) and not all(on_gpu):
        raise InvalidProblem("some arrays are on a GPU and some are not")
    if not any(on_gpu):
        return _matmul_numpy(found, a, b, out, parameters, opened(device))
    if device == "auto":
        # The first GPU, where the array's interface does not tell.
        device = f"cuda:{int(a.__dlpack_device__()[1])}" if hasattr(a, "__dlpack_device__") else "cuda"
    return _matmul_in_place(found, a, b, out, parameters, opened(device))


def _parameters(block: Block, config: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**(config or {}), **({} if block is None else {"block": block})}


def _on_gpu(array: object) -> bool:
    if hasattr(array, "__cuda_array_interface__"):
        return True
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and not isinstance(array, np.ndarray) and int(place()[0]) != _DLPACK_CPU


def _sizes(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...] | None) -> tuple[int, int, int]:
    """m, n and k of arrays of those shapes."""
    for label, shape in (("A", a), ("B", b)):
        if len(shape) != 2:
            raise InvalidProblem(f"{label} must have two dimensions, but has shape {shape}")
    if a[1] != b[0]:
        raise InvalidProblem(f"A is {a[0]}×{a[1]} and B is {b[0]}×{b[1]}; A's columns must be as many as B's rows")
    if out is not None and out != (a[0], b[1]):
        raise InvalidProblem(f"the product is {a[0]}×{b[1]}, but out has shape {out}")
    return a[0], b[1], a[1]


def _check_type(found: Kernel, label: str, name: str) -> None:
    wanted = found.dtype if label in "AB" else found.output
    if name not in (wanted, dtype_named(wanted).storage):
        raise InvalidProblem(f"{found.name} takes {wanted}, but {label} is {name}")


def _planned(found: Kernel, problem: Problem, parameters: Mapping[str, Any], device: Device) -> Plan:
    config = found.config(**parameters) if parameters else found.fitting_config(problem)
    return plan(found, problem, config, device.properties)


def _launch(loaded: LoadedKernel) -> None:
    violations = loaded.run()
    if violations:
        raise KernelError(f"{loaded.plan.kernel.name}: {violations[0].message}")


def _matmul_numpy(found: Kernel, a: Any, b: Any, out: Any, parameters: Mapping[str, Any], device: Device) -> Any:
    for label, array in {"A": a, "B": b, **({} if out is None else {"out": out})}.items():
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
            raise InvalidProblem(f"{label} is a {type(array).__name__}, not an array")
        if not array.dtype.isnative:
            raise InvalidProblem(
                f"{label} holds {array.dtype.str} elements, whose bytes are in another order than here"
            )
        _check_type(found, label, array.dtype.name)
    m, n, k = _sizes(a.shape, b.shape, None if out is None else out.shape)
    if out is None:
        out = np.zeros((m, n), dtype_named(found.output).storage if found.output != a.dtype.name else a.dtype)
    if not out.flags.writeable:
        raise InvalidProblem("out is read-only")
    with LoadedKernel(_planned(found, found.problem(m, n, k), parameters, device), device) as loaded:
        host = {"A": a, "B": b, **({"C": out} if found.accumulate else {})}
        if found.initial_c == "zeros":
            host["C"] = np.zeros((m, n), out.dtype)
        host |= {label: host[label].T for label in found.column_major if label in host}
        loaded.upload({label: np.ascontiguousarray(array).reshape(-1) for label, array in host.items()})
        _launch(loaded)
        result = np.empty((n, m) if "C" in found.column_major else (m, n), out.dtype)
        loaded.buffers["C"].download(result.reshape(-1))
    out[...] = result.T if "C" in found.column_major else result
    return out


def _matmul_in_place(found: Kernel, a: Any, b: Any, out: Any, parameters: Mapping[str, Any], device: Device) -> Any:
    if out is None:
        if found.output != found.dtype:
            raise InvalidProblem(f"{found.name} gives {found.output}; pass an out array of that type")
        shape = (a.shape[0], b.shape[1])
        if hasattr(a, "new_zeros"):
            out = a.new_zeros(shape)
        elif hasattr(a, "__array_function__"):
            out = np.zeros_like(a, shape=shape)
        else:
            raise InvalidProblem(f"how to make a new {type(a).__name__} is not known; pass out")
    buffers: dict[str, Buffer] = {}
    shapes, leading = {}, {}
    for label, array in (("A", a), ("B", b), ("C", out)):
        buffers[label], shapes[label], strides, name = device.borrow(label, array)
        _check_type(found, label, name)
        leading[f"ld{label.lower()}"] = _leading(found, label, shapes[label], strides)
        if found.build is not None and buffers[label].address % _ALIGNMENT:
            raise InvalidProblem(f"{label} begins at no multiple of {_ALIGNMENT} bytes, as {found.name} is built for")
    planned = _planned(found, found.problem(*_sizes(*shapes.values()), **leading), parameters, device)
    for label in "AB":
        if planned.over_read(label):
            raise InvalidProblem(
                f"{found.name} reads {planned.over_read(label)} elements past the end of {label}, which need not be "
                "the caller's own; pass numpy arrays, or take a kernel that stays inside"
            )
    with LoadedKernel(planned, device, borrowed=buffers) as loaded:
        _launch(loaded)
    return out


def _leading(found: Kernel, label: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Leading dimension of an array on a GPU, which is not copied and so must be laid out as the kernel reads it."""
    if len(shape) != 2 or min(shape) == 0:
        return 0
    strides, line = strides or (shape[1], 1), "row"
    if label in found.column_major:
        shape, strides, line = shape[::-1], strides[::-1], "column"
    leading = strides[0] if shape[0] > 1 else shape[1]
    if (shape[1] > 1 and strides[1] != 1) or leading < shape[1]:
        raise InvalidProblem(f"{label} is not stored {line} by {line}, and on a GPU it is used where it lies")
    if leading != shape[1] and not found.strided:
        raise InvalidProblem(
            f"{found.name} takes no leading dimension, but the {line}s of {label} lie {leading} elements apart"
        )
    return leading
