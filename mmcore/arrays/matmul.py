"""Products of arrays: :func:`matmul`, and :func:`best_kernel`, which returns the kernel that it takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from mmcore.api import Block, parameters_of
from mmcore.arrays.layout import (
    ALIGNMENT,
    DLPACK_CPU,
    MatrixLayout,
    check_array,
    check_type,
    dlpack_type,
    leading_dimension,
    new_like,
    sizes,
    usable,
)
from mmcore.devices.base import Buffer, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import ConstraintViolation, InvalidProblem, KernelError
from mmcore.executor.choose_device import device_of_memory
from mmcore.executor.worker import opened
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.planning.kernel_choice import Choice
from mmcore.planning.plan import Plan, plan, usual_config
from mmcore.registry import registry


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
    """Return ``out``, or a new array, with the product that a kernel computes. Only :func:`run` verifies it.

    Args:
        a: m×k, of the kernel's element type. A numpy array with any strides (packed once if its rows are not
            contiguous), or memory on a GPU (PyTorch, CuPy: DLPack or ``__cuda_array_interface__``), used in place.
        b: k×n, in the same way.
        out: m×n, receives the kernel's α·A·B + β·C, where C is its old value if β is not 0. Only its elements are
            written, not the gaps between the rows of a slice. A new array (of zeros before accumulating) when None.
        kernel: a registered kernel's name, or any kernel itself. When None, the one that :func:`best_kernel` returns;
            the logger "mmcore" reports it at level INFO.
        block: threads per block, as for :func:`cell`.
        config: other parameters, as for :func:`cell`.
        device: the device to run on. A product of arrays on a GPU runs on that GPU.

    Raises:
        InvalidProblem: the shapes, types or devices of the arrays do not fit each other, the kernel or the device.
        ConstraintViolation: the kernel's constraints forbid this product.
        KernelError: the launch failed or accessed memory out of bounds; ``out`` is unchanged.
    """
    parameters = parameters_of(block, config)
    opened_device, on_gpu = _device_of(a, b, out, device)
    target = out
    if kernel is None:
        choice, a, b, target = _choice(a, b, out, opened_device, on_gpu)
        logging.getLogger("mmcore").info("%s", choice)
        kernel, parameters = choice.kernel, parameters or choice.config.to_json()
        if out is not None and target is None:
            target = new_like(out, out.shape)
    declaration = kernel if isinstance(kernel, Kernel) else registry().kernel(kernel)
    compute = _matmul_in_place if on_gpu else _matmul_numpy
    result = compute(declaration, a, b, target, parameters, opened_device)
    if out is None or target is out:
        return result
    out[...] = result
    return out


def best_kernel(a: Any, b: Any, out: Any = None, *, device: str = "auto") -> Choice:
    """Return the kernel and config that :func:`matmul` takes for such arrays if none is named, and the reason.

    On a GPU it is the fastest kernel that is tuned for their types and layouts and the nearest product. It was tuned on
    such a card or else on another, and verified before it was timed. A float32 product keeps float32's tolerance.
    Without tuned kernels, and without a GPU, it is a plain kernel of float32. Arguments and errors are as there.
    """
    return _choice(a, b, out, *_device_of(a, b, out, device))[0]


def _labelled(a: Any, b: Any, out: Any) -> list[tuple[str, Any]]:
    """Return the arrays, each with its name."""
    return [("A", a), ("B", b), *([] if out is None else [("out", out)])]


def _device_of(a: Any, b: Any, out: Any, device: str) -> tuple[Device, bool]:
    """Return the device that computes a product of such arrays, and whether they are in its memory."""
    types = {dlpack_type(array) for _, array in _labelled(a, b, out)}
    if len(types) > 1 and DLPACK_CPU in types:
        raise InvalidProblem("some arrays are on a GPU and some are not")
    on_gpu = DLPACK_CPU not in types
    if on_gpu and device == "auto":
        # The first GPU where the array's interface does not say which.
        index = int(a.__dlpack_device__()[1]) if hasattr(a, "__dlpack_device__") else 0
        device = device_of_memory(types.pop(), index)
    return opened(device), on_gpu


def _choice(a: Any, b: Any, out: Any, device: Device, on_gpu: bool) -> tuple[Choice, Any, Any, Any]:
    """Return the best kernel, and the arrays: A and B copied and ``out`` None if the kernel cannot use them."""
    if not on_gpu:
        for label, array in _labelled(a, b, out):
            check_array(label, array)
        output = a.dtype.name if out is None else out.dtype.name
        extents = sizes(a.shape, b.shape, None if out is None else out.shape)
        return _best(Problem(*extents, a.dtype.name, output), device, on_gpu), a, b, out
    (a, of_a), (b, of_b) = (usable(label, array, device) for label, array in (("A", a), ("B", b)))
    shape, output, target = None, of_a.dtype, out
    if out is not None:
        of_out = MatrixLayout.of("C", out, device)
        shape, output, target = of_out.shape, of_out.dtype, out if of_out.by == "rows" else None
    column_major = "".join(label for label, layout in (("A", of_a), ("B", of_b)) if layout.by == "columns")
    m, n, k = sizes(of_a.shape, of_b.shape, shape)
    problem = Problem(m, n, k, of_a.dtype, output, of_a.leading, of_b.leading, column_major=column_major)
    return _best(problem, device, on_gpu), a, b, target


def _best(problem: Problem, device: Device, in_place: bool) -> Choice:
    """Return the best kernel that can be launched; in place only one that reads nothing past the matrices."""

    def fits(kernel: Kernel, config: Config) -> bool:
        try:
            planned = plan(kernel, problem, config, device.properties)
        except ConstraintViolation:
            return False
        return not (in_place and any(map(planned.over_read, "AB")))

    answer = registry().hook.mmcore_best_kernel(problem=problem, device=device.properties, fits=fits)
    if answer is None:
        columns = problem.column_major
        layout = f" with {' and '.join(columns)} by columns" if columns else ""
        types = "→".join(dict.fromkeys((problem.dtype, problem.output)))
        raise InvalidProblem(f"no kernel is tuned for {types}{layout} on {device.name}; name the one to take")
    choice: Choice = answer.item
    return choice


def _planned(kernel: Kernel, problem: Problem, parameters: Mapping[str, Any], device: Device) -> Plan:
    config = kernel.config(**parameters) if parameters else usual_config(kernel, problem, device.properties)[0]
    return plan(kernel, problem, config, device.properties)


def _launch(loaded: LoadedKernel) -> None:
    violations = loaded.run()
    if violations:
        raise KernelError(f"{loaded.plan.kernel.name}: {violations[0]}")


def _matmul_numpy(kernel: Kernel, a: Any, b: Any, out: Any, parameters: Mapping[str, Any], device: Device) -> Any:
    for label, array in _labelled(a, b, out):
        check_array(label, array)
        check_type(kernel, label, array.dtype.name)
    m, n, k = sizes(a.shape, b.shape, None if out is None else out.shape)
    if out is None:
        out = np.zeros((m, n), dtype_named(kernel.output).storage if kernel.output != a.dtype.name else a.dtype)
    if not out.flags.writeable:
        raise InvalidProblem("out is read-only")
    with LoadedKernel(_planned(kernel, kernel.problem(m, n, k), parameters, device), device) as loaded:
        host = {"A": a, "B": b, **({"C": out} if kernel.accumulate else {})}
        if kernel.initial_c == "zeros":
            host["C"] = np.zeros((m, n), out.dtype)
        host |= {label: host[label].T for label in kernel.column_major if label in host}
        loaded.upload({label: np.ascontiguousarray(array).reshape(-1) for label, array in host.items()})
        _launch(loaded)
        result = np.empty((n, m) if "C" in kernel.column_major else (m, n), out.dtype)
        loaded.buffers["C"].download(result.reshape(-1))
    out[...] = result.T if "C" in kernel.column_major else result
    return out


def _matmul_in_place(kernel: Kernel, a: Any, b: Any, out: Any, parameters: Mapping[str, Any], device: Device) -> Any:
    if out is None:
        if kernel.output != kernel.dtype:
            raise InvalidProblem(f"{kernel.name} gives {kernel.output}; pass an out array of that type")
        out = new_like(a, (a.shape[0], b.shape[1]))
    buffers: dict[str, Buffer] = {}
    shapes, leading = {}, {}
    for label, array in (("A", a), ("B", b), ("C", out)):
        buffers[label], shapes[label], strides, name = device.borrow(label, array)
        check_type(kernel, label, name)
        leading[f"ld{label.lower()}"] = leading_dimension(kernel, label, shapes[label], strides)
        if kernel.build is not None and buffers[label].address % ALIGNMENT:
            raise InvalidProblem(f"{label} begins at no multiple of {ALIGNMENT} bytes, as {kernel.name} is built for")
    planned = _planned(kernel, kernel.problem(*sizes(*shapes.values()), **leading), parameters, device)
    for label in "AB":
        if planned.over_read(label):
            past = f"{kernel.name} reads {planned.over_read(label)} elements past the end of {label}"
            advice = "pass numpy arrays, or take a kernel that stays inside"
            raise InvalidProblem(f"{past}, which may belong to another array; {advice}")
    with LoadedKernel(planned, device, borrowed=buffers) as loaded:
        _launch(loaded)
    return out
