"""Products of arrays: :func:`matmul`, and :func:`best_kernel`, which tells what computes them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmcore.api import Block, parameters_of
from mmcore.devices.base import Buffer, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import ConstraintViolation, InvalidProblem, KernelError
from mmcore.executor.worker import opened
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.planning.plan import Plan, plan, usual_config
from mmcore.registry import registry
from mmcore.tuning import Choice, choices

USUAL_KERNEL = "ladder.f32.03_tiles"
"""The kernel of :func:`matmul` where none is named, and none is tuned."""

_DLPACK_CPU = 1
_ALIGNMENT = 16  # bytes of the widest load, which a kernel may make anywhere


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    kernel: str | Kernel | None = None,
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
        kernel: a registered kernel's name, or any kernel itself. When None, the one that :func:`best_kernel` tells,
            which the logger "mmcore" tells as well, at level INFO.
        block, config: as for :func:`cell`.
        device: where to run it; arrays on a GPU run there.

    Returns:
        ``out``, or the new m×n array.

    Raises:
        InvalidProblem: the shapes, types or places of the arrays do not fit each other, the kernel or the device.
        ConstraintViolation: the kernel's constraints forbid this product.
        KernelError: the launch failed or left its memory; ``out`` is unchanged.
    """
    parameters = parameters_of(block, config)
    where, on_gpu = _place(a, b, out, device)
    if kernel is None and not parameters:
        chosen, a, b, target = _chosen(a, b, out, where, on_gpu)
        logging.getLogger("mmcore").info("%s", chosen)
        kernel, parameters = chosen.kernel, chosen.config.to_json()
        if out is not None and target is None:
            target = _new_like(out, out.shape)
    else:
        kernel, target = USUAL_KERNEL if kernel is None else kernel, out
    found = kernel if isinstance(kernel, Kernel) else registry().kernel(kernel)
    compute = _matmul_in_place if on_gpu else _matmul_numpy
    result = compute(found, a, b, target, parameters, where)
    if out is None or target is out:
        return result
    out[...] = result
    return out


def best_kernel(a: Any, b: Any, out: Any = None, *, device: str = "auto") -> Choice:
    """The kernel and config that :func:`matmul` takes for such arrays where nobody names one, and why.

    On a GPU it is the fastest kernel that is tuned for their types and layouts, for the product nearest to theirs, on a
    card such as theirs or else on another; each was verified before it was timed. A float32 product keeps float32's
    tolerance, whatever computes it. Without tuned kernels, and without a GPU, it is :data:`USUAL_KERNEL`, of float32
    alone.

    Arguments and errors are those of :func:`matmul`.
    """
    return _chosen(a, b, out, *_place(a, b, out, device))[0]


def _labelled(a: Any, b: Any, out: Any) -> list[tuple[str, Any]]:
    """The arrays that were given, each with its name."""
    return [("A", a), ("B", b), *([] if out is None else [("out", out)])]


def _place(a: Any, b: Any, out: Any, device: str) -> tuple[Device, bool]:
    """The device that computes a product of such arrays, and whether they lie on it."""
    on_gpu = [_on_gpu(array) for _, array in _labelled(a, b, out)]
    if any(on_gpu) and not all(on_gpu):
        raise InvalidProblem("some arrays are on a GPU and some are not")
    if any(on_gpu) and device == "auto":
        # The first GPU, where the array's interface does not tell.
        device = f"cuda:{int(a.__dlpack_device__()[1])}" if hasattr(a, "__dlpack_device__") else "cuda"
    return opened(device), any(on_gpu)


def _chosen(a: Any, b: Any, out: Any, device: Device, on_gpu: bool) -> tuple[Choice, Any, Any, Any]:
    """The best kernel, and the arrays with a copy of what it cannot use where it lies; of ``out`` None is its copy."""
    if not on_gpu:
        for label, array in _labelled(a, b, out):
            _check_array(label, array)
        output = a.dtype.name if out is None else out.dtype.name
        sizes = _sizes(a.shape, b.shape, None if out is None else out.shape)
        return _best(Problem(*sizes, a.dtype.name, output), device, on_gpu), a, b, out
    (a, first), (b, second) = (_usable(label, array, device) for label, array in (("A", a), ("B", b)))
    shape, output, target = None, first.dtype, out
    if out is not None:
        third = _Lying.of("C", out, device)
        shape, output, target = third.shape, third.dtype, out if third.by == "rows" else None
    column_major = "".join(label for label, each in (("A", first), ("B", second)) if each.by == "columns")
    m, n, k = _sizes(first.shape, second.shape, shape)
    lda, ldb = first.leading, second.leading
    problem = Problem(m, n, k, first.dtype, output, lda, ldb, column_major=column_major)
    return _best(problem, device, on_gpu), a, b, target


def _best(problem: Problem, device: Device, in_place: bool) -> Choice:
    """The first choice that can be launched; in place only without reads past the matrices' ends."""

    def wanted(kernel: Kernel) -> bool:
        types = (kernel.dtype, kernel.output, kernel.column_major) == (problem.dtype, problem.output, columns)
        return types and kernel.operation == "C=AB" and not kernel.known_bugs

    columns = problem.column_major
    for choice in choices(wanted, problem, device.properties) if device.supports_timing else ():
        with contextlib.suppress(ConstraintViolation):
            planned = plan(choice.kernel, problem, choice.config, device.properties)
            if not (in_place and any(map(planned.over_read, "AB"))):
                return choice
    kernel = registry().kernel(USUAL_KERNEL)
    if not wanted(kernel):
        layout = f" with {' and '.join(columns)} by columns" if columns else ""
        types = "→".join(dict.fromkeys((problem.dtype, problem.output)))
        raise InvalidProblem(f"no kernel is tuned for {types}{layout} on {device.name}; name the one to take")
    return Choice(kernel, kernel.fitting_config(problem), f"nothing is tuned for such a product on {device.name}")


@dataclass(frozen=True)
class _Lying:
    """How an array lies on a GPU: its shape, type and leading dimension, and by what it is stored."""

    shape: tuple[int, ...]
    dtype: str
    leading: int
    by: str  # "rows", "columns" or neither

    @classmethod
    def of(cls, label: str, array: Any, device: Device) -> _Lying:
        buffer, shape, strides, dtype = device.borrow(label, array)
        if len(shape) != 2 or min(shape) == 0 or strides is None:
            return cls(shape, dtype, 0, "rows")
        by = ""
        (rows, columns), (down, across) = shape, strides
        if buffer.address % _ALIGNMENT == 0:
            if columns == 1 or across == 1:
                by = "rows" if rows == 1 or down >= columns else ""
            if not by and (rows == 1 or down == 1) and across >= rows:
                by = "columns"
        leading = {"rows": down if rows > 1 else columns, "columns": across if columns > 1 else rows}.get(by, 0)
        return cls(shape, dtype, leading, by)


def _usable(label: str, array: Any, device: Device) -> tuple[Any, _Lying]:
    """An array that lies by rows or columns from a multiple of 16 bytes on: itself, or its copy."""
    lying = _Lying.of(label, array, device)
    if not lying.by:
        array = array.clone() if hasattr(array, "clone") else array.copy()
        lying = _Lying.of(label, array, device)
    return array, lying


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


def _check_array(label: str, array: Any) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InvalidProblem(f"{label} is a {type(array).__name__}, not an array")
    if not array.dtype.isnative:
        raise InvalidProblem(f"{label} holds {array.dtype.str} elements, whose bytes are in another order than here")


def _check_type(found: Kernel, label: str, name: str) -> None:
    wanted = found.dtype if label in "AB" else found.output
    if name not in (wanted, dtype_named(wanted).storage):
        raise InvalidProblem(f"{found.name} takes {wanted}, but {label} is {name}")


def _planned(found: Kernel, problem: Problem, parameters: Mapping[str, Any], device: Device) -> Plan:
    config = found.config(**parameters) if parameters else usual_config(found, problem, device.properties)[0]
    return plan(found, problem, config, device.properties)


def _launch(loaded: LoadedKernel) -> None:
    violations = loaded.run()
    if violations:
        raise KernelError(f"{loaded.plan.kernel.name}: {violations[0].message}")


def _matmul_numpy(found: Kernel, a: Any, b: Any, out: Any, parameters: Mapping[str, Any], device: Device) -> Any:
    for label, array in _labelled(a, b, out):
        _check_array(label, array)
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
        out = _new_like(a, (a.shape[0], b.shape[1]))
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
            past = f"{found.name} reads {planned.over_read(label)} elements past the end of {label}"
            advice = "pass numpy arrays, or take a kernel that stays inside"
            raise InvalidProblem(f"{past}, which need not be the caller's own; {advice}")
    with LoadedKernel(planned, device, borrowed=buffers) as loaded:
        _launch(loaded)
    return out


def _new_like(array: Any, shape: tuple[int, ...]) -> Any:
    """A new array of zeros on a GPU, by rows, of another's type."""
    if hasattr(array, "new_zeros"):
        return array.new_zeros(shape)
    if hasattr(array, "__array_function__"):
        return np.zeros_like(array, shape=shape, order="C")
    raise InvalidProblem(f"how to make a new {type(array).__name__} is not known; pass out")


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
        lie = f"the {line}s of {label} lie {leading} elements apart"
        raise InvalidProblem(f"{found.name} takes no leading dimension, but {lie}")
    return leading
