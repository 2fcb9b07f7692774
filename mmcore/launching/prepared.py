"""A plan, compiled for a device and loaded onto it, with memory for everything it touches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType

import numpy as np

from mmcore.errors import InvalidKernel, Refused
from mmcore.launching.code import Code, Function
from mmcore.launching.compiler import compile_plan
from mmcore.launching.device import Buffer, Call, Device, HostArray, MatrixMap, Program
from mmcore.launching.faults import Fault
from mmcore.planning.dtypes import dtype_named
from mmcore.planning.launch import MATRICES, Argument, Launch, Scalar, TensorMap, Workspace, scalar_value
from mmcore.planning.plan import Plan


class Prepared:
    """Everything ready to launch; a context manager that frees the device's memory.

    Args:
        plan: what to launch.
        device: where.
        borrowed: buffers that take the place of matrices' own memory, by "A", "B", "C".

    Attributes:
        plan: what is launched.
        code: what it was compiled to.
        program: the code on the device.
        buffers: device memory, by matrix or workspace name.
        calls: the launches with their arguments.

    Raises:
        CompileError, CompilerMissing, InvalidKernel: the source does not become code.
        Refused: the compiled kernel takes more registers or shared memory than the device has.
        DeviceFault: the device has no memory for it, or rejects the code.
    """

    def __init__(self, plan: Plan, device: Device, borrowed: Mapping[str, Buffer] | None = None) -> None:
        self.plan = plan
        self.code: Code = compile_plan(plan, device.architecture, device.deadline)
        self._check_resources(device)
        with ExitStack() as cleanup:
            self.program: Program = device.load(self.code)
            cleanup.callback(self.program.close)
            self.buffers: dict[str, Buffer] = dict(borrowed or {})
            for label, nbytes, over_read_bytes in self._needs():
                if label not in self.buffers:
                    self.buffers[label] = device.allocate(label, nbytes, over_read_bytes)
                    cleanup.callback(self.buffers[label].close)
            self.calls = tuple(self._call(launch) for launch in plan.launches)
            self._check_arguments()
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> Prepared:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._cleanup.close()

    @property
    def functions(self) -> tuple[Function, ...]:
        """The compiled function of each launch."""
        return tuple(call.function for call in self.calls)

    def upload(self, matrices: Mapping[str, HostArray]) -> None:
        """Copy contiguous host arrays to the matrices' memory, by "A", "B", "C"."""
        for label, data in matrices.items():
            self.buffers[label].upload(data)

    def run(self) -> list[Fault]:
        """Make the launches and wait for them; what they did wrong, writes outside their memory included."""
        faults = self.program.run(self.calls)
        if not faults:
            faults = [fault for buffer in self.buffers.values() for fault in buffer.trespasses()]
        return faults

    def _check_resources(self, device: Device) -> None:
        reasons: list[str] = []
        for launch in self.plan.launches:
            function = self.code.functions[self.plan.entry(launch)]
            shared_bytes = function.static_shared_bytes + launch.shared_bytes
            reasons += device.limits.resource_refusals(launch.block_dim, function.registers, shared_bytes)
        if reasons:
            raise Refused(self.plan.kernel.name, list(dict.fromkeys(reasons)))

    def _check_arguments(self) -> None:
        """A launch with other arguments than the function takes reads whatever lies there."""
        for call, launch in zip(self.calls, self.plan.launches, strict=True):
            declared = tuple(map(_argument_bytes, call.arguments))
            if declared != call.function.parameter_bytes:
                entry, taken = self.plan.entry(launch), _sizes(call.function.parameter_bytes)
                raise InvalidKernel(
                    f"{self.plan.kernel.name}: {entry} takes {taken}, but is declared with {_sizes(declared)}"
                )

    def _needs(self) -> list[tuple[str, int, int]]:
        """(label, bytes, over-read bytes) of every buffer."""
        plan = self.plan
        needs = []
        for matrix in MATRICES:
            itemsize = dtype_named(plan.problem.output if matrix == "C" else plan.problem.dtype).itemsize
            needs.append((matrix, plan.problem.span(matrix) * itemsize, plan.over_read(matrix) * itemsize))
        return needs + [(workspace.name, workspace.nbytes, 0) for workspace in plan.workspaces.values()]

    def _call(self, launch: Launch) -> Call:
        arguments = tuple(self._bound(argument) for argument in self.plan.arguments(launch))
        return Call(self.code.functions[self.plan.entry(launch)], launch, arguments)

    def _bound(self, argument: Argument) -> Buffer | MatrixMap | np.generic:
        problem = self.plan.problem
        if isinstance(argument, Workspace):
            return self.buffers[argument.name]
        if isinstance(argument, TensorMap):
            rows, columns = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}[argument.matrix]
            return MatrixMap(
                argument,
                self.buffers[argument.matrix],
                getattr(problem, rows),
                getattr(problem, columns),
                getattr(problem, f"ld{argument.matrix.lower()}"),
                problem.output if argument.matrix == "C" else problem.dtype,
            )
        if isinstance(argument, str) and argument in MATRICES:
            return self.buffers[argument]
        scalar = Scalar(argument) if isinstance(argument, str) else argument
        number = np.dtype(scalar.type).type(scalar_value(scalar, problem))
        assert isinstance(number, np.generic)
        return number


def _argument_bytes(argument: Buffer | MatrixMap | np.generic) -> int:
    """Size of an argument: a pointer, a tensor map or a number."""
    if isinstance(argument, np.generic):
        return argument.nbytes
    return 128 if isinstance(argument, MatrixMap) else 8


def _sizes(parameters: tuple[int, ...]) -> str:
    listed = f" ({', '.join(map(str, parameters))} bytes)" if parameters else ""
    return f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}{listed}"
