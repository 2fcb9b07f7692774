"""CUDA C compiled by NVRTC and run on the emulator, without mmcore's kernels around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import nvrtc
from numpy.typing import NDArray

from mmcore.deadline import Deadline
from mmcore_emulator.errors import EmulatorError as EmulatorError
from mmcore_emulator.errors import PtxError as PtxError
from mmcore_emulator.errors import UnsupportedInstruction as UnsupportedInstruction
from mmcore_emulator.executor.kernel_launch import KernelLaunch, ModuleMemory, Progress, parameter_bytes
from mmcore_emulator.executor.scheduler import execute
from mmcore_emulator.executor.translation.translate import Translation, translate
from mmcore_emulator.isa.architectures import CAPABILITIES as CAPABILITIES
from mmcore_emulator.isa.table import least_capability as least_capability
from mmcore_emulator.isa.table import operation
from mmcore_emulator.machine.limits import Dim3 as Dim3
from mmcore_emulator.machine.memory.arrays import DeviceMemory
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.machine.violations import Violation as Violation
from mmcore_emulator.numerics.floats import from_bfloat16 as from_bfloat16
from mmcore_emulator.numerics.floats import to_bfloat16 as to_bfloat16
from mmcore_emulator.numerics.types import NUMPY
from mmcore_emulator.ptx.asm_lines import with_first_lines
from mmcore_emulator.ptx.carry_flag import with_carries
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.reader import parse


def compiled(source: str, *options: str, architecture: str) -> Any:
    """Compile CUDA C, with source lines."""
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    flags = [f"-arch=sm_{architecture}".encode(), b"-lineinfo", b"--no-cache", *(option.encode() for option in options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytes(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    return program


def cubin_of(source: str, architecture: str) -> bytes:
    """Return the machine code of CUDA C for an architecture."""
    program = compiled(source, architecture=architecture)
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    code = bytes(size)
    nvrtc.nvrtcGetCUBIN(program, code)
    return code


@functools.cache
def ptx_of(source: str, *options: str, architecture: str = "90") -> str:
    """Return the PTX of CUDA C, with source lines."""
    program = compiled(source, *options, architecture=architecture)
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = bytes(size)
    nvrtc.nvrtcGetPTX(program, text)
    return with_first_lines(str(text.rstrip(b"\0"), "utf-8"), "test.cu", source)


def function_of(text: str) -> Function:
    """Return the only function of PTX text."""
    (function,) = parse(text).values()
    return function


@dataclass
class Emulated:
    """The result of an emulation: the arrays afterwards, the violations, and the run."""

    arrays: list[NDArray[Any]]
    violations: list[Violation]
    run: KernelLaunch


def emulate(
    source: str,
    *arguments: NDArray[Any] | np.generic | bytes,
    grid: Sequence[int] = (1,),
    block: Sequence[int] = (32,),
    shared_bytes: int = 0,
    options: Sequence[str] = (),
    architecture: str = "90",
    text: str = "",
    observers: Callable[[Translation], tuple[Observer, ...]] = lambda translation: (),
    resident_blocks: int = 132,
    cluster: Sequence[int] = (1, 1, 1),
    registers: int = 0,
) -> Emulated:
    """Run the only kernel of ``source`` (or of PTX ``text``); arrays go to device memory and come back."""
    function = function_of(text or ptx_of(source, *options, architecture=architecture))
    memory = DeviceMemory()
    capability = divmod(int(architecture.removesuffix("a")), 10)
    translation = translate(function, ModuleMemory(memory).addresses(function), capability)
    held, values = [], []
    for number, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            array = memory.allocate("PQRST"[number], argument.nbytes, 0)
            array.content[: argument.nbytes] = argument.reshape(-1).view(np.uint8)
            held.append((array, argument))
            values.append(array.base.to_bytes(8, "little"))
        else:
            values.append(argument if isinstance(argument, bytes) else argument.tobytes())
    content = parameter_bytes(translation, values)
    geometry = Dim3(*grid), Dim3(*block), shared_bytes
    watching = observers(translation), Progress(1), resident_blocks
    run = KernelLaunch(translation, *geometry, content, memory, Deadline(), *watching, cluster=Dim3(*cluster))
    run.registers = registers
    execute(run)
    arrays = [
        array.content[: argument.nbytes].view(argument.dtype).reshape(argument.shape).copy() for array, argument in held
    ]
    return Emulated(arrays, list(run.violations.values()), run)


def ptx_kernel(body: str, *, module: str = "", directives: str = "") -> str:
    """Return PTX of a kernel with one array; before ``body``, the kernel computes the thread's address.

    ``%d1`` holds the array's address, ``%r1`` the thread's number, ``%d2`` the address of its element of 4 bytes.
    Registers are %p (pred), %h (b16), %r (b32), %d (b64), %f (f32) and %g (f64), 1 to 19 of each.
    """
    return f"""
    .version 8.8
    .target sm_90
    .address_size 64
    .file 1 "/somewhere/test.cu"
    {module}
    .visible .entry f(.param .u64 f_param_0) {directives}
    {{
        .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<20>; .reg .f64 %g<20>;
        ld.param.u64 %d1, [f_param_0];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %d2, %r1, 4;
        add.s64 %d2, %d1, %d2;
        {body}
        ret;
    }}"""


def words(body: str, data: Sequence[int] = (0,) * 32, *, block: Sequence[int] = (32,), module: str = "") -> Emulated:
    """Run :func:`ptx_kernel` on an array of 32-bit words."""
    return emulate("", np.array(data, np.uint32), block=block, text=ptx_kernel(body, module=module))


def dtype_of(kind: str) -> np.dtype[Any]:
    """Return the numpy type that holds numbers of a PTX type."""
    return NUMPY[kind]


def operand_types(opcode: str, results: int = 1) -> tuple[tuple[str, ...], str] | None:
    """Return the PTX types of an opcode's operands and of its result, or None for an unknown opcode."""
    known = operation(tuple(opcode.split(".")), results)
    return (tuple(known.sources), known.result) if known else None


def computed(opcode: str, *operands: Any, results: int = 1) -> list[NDArray[np.uint64]]:
    """Return the results of an opcode, applied without a launch; operands and results are bits."""
    known = operation(tuple(opcode.split(".")), results)
    assert known is not None, opcode
    sources = []
    for operand, kind in zip(operands, known.sources, strict=True):
        bits = np.atleast_1d(np.asarray(operand, np.uint64))
        sources.append(bits.astype(np.bool_) if kind == "pred" else bits.astype(f"u{NUMPY[kind].itemsize}"))
        sources[-1] = sources[-1].view(NUMPY[kind])
    with np.errstate(all="ignore"):
        made = known.compute(*sources)
    made = [np.asarray(each) for each in (made if results > 1 else [made])]
    assert made[0].dtype == NUMPY[known.result], (opcode, made[0].dtype)
    return [each.view(f"u{each.itemsize}").astype(np.uint64) for each in made]


def translated(text: str, *, architecture: str = "90") -> str:
    """Translate the functions of PTX text; return the error that refuses it, or an empty text."""
    try:
        for function in parse(text).values():
            translate(function, capability=divmod(int(architecture), 10))
    except EmulatorError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def refused_statement(statement: str, *, module: str = "", architecture: str = "90") -> str:
    """Return the error with which the emulator refuses a statement before it runs, or an empty text."""
    return translated(ptx_kernel(statement, module=module), architecture=architecture)


def parsed_statements(statements: Sequence[str]) -> list[tuple[tuple[str, ...], int, int]]:
    """Return the opcode and the numbers of results and of operands of each statement, as the emulator reads them."""
    body = with_carries(function_of(ptx_kernel("\n".join(statements)))).body[-1 - len(statements) : -1]
    firsts = [instruction.operands[0] for instruction in body]
    return [
        (instruction.opcode, len(first) if isinstance(first, tuple) else 1, len(instruction.operands) - 1)
        for instruction, first in zip(body, firsts, strict=True)
    ]
