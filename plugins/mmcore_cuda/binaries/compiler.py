"""Compilation of a plan whose code exists already: from a build rule, or a .ptx or .cubin file."""

from __future__ import annotations

import functools
import hashlib
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmcore.compile.compiled_module import Binary, CompiledFunction, CompiledModule
from mmcore.errors import CompileError, InvalidKernel, Unsupported, asking
from mmcore.files import read_bytes
from mmcore.planning.plan import Plan
from mmcore_cuda.binaries.code import Code, CodeFunction, UnreadableCode, machine_code_runs, read_cubin, read_ptx
from mmcore_cuda.binaries.ptxas_log import Resources, resources
from mmcore_emulator.isa.architectures import ptx_runs

_MOST_BUILT = 64
_FIELDS: dict[str, type[Any]] = {"cubin": bytes, "ptx": str, "shared_bytes": int, "null_pointers": int}
# Errors whose messages adapters write themselves.
_ADAPTER_ERRORS = (CompileError, Unsupported)
# The code built in this process, by build rule and its arguments. Keeping the rule alive keeps its id unique.
_built: OrderedDict[tuple[Any, ...], tuple[Any, Binary]] = OrderedDict()


@functools.lru_cache(maxsize=64)
def linked(ptx: str, architecture: str) -> tuple[bytes, Mapping[str, Resources]]:
    """Return machine code for an architecture such as "90a", empty if it cannot be made here, and what ptxas reports.

    Errors in the PTX are reported when a device loads it.
    """
    from cuda.core import Linker, LinkerOptions, ObjectCode

    try:
        with warnings.catch_warnings():
            # Without nvJitLink cuda.core warns and uses the driver, which suffices for a single PTX.
            warnings.simplefilter("ignore", RuntimeWarning)
            options = LinkerOptions(arch=f"sm_{architecture}", verbose=True)
            linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
        cubin = bytes(linker.link("cubin").code)
        return cubin, resources(linker.get_info_log())
    except Exception:
        return b"", {}


def compile_plan(plan: Plan, architecture: str) -> CompiledModule:
    """Return the code that a plan launches, for its kernel's own ``architecture`` or else the device's, such as "90".

    Raises:
        InvalidKernel: the build rule fails, or the code does not match the declaration.
        CompileError: the code is for another architecture.
        CompilerMissing: the build rule needs a package that is not installed.
    """
    kernel, wanted = plan.kernel, plan.kernel.architecture or architecture
    binary = code_of(plan, architecture)
    source = kernel.source.name if kernel.build is None else kernel.name
    ptx, native = _read(plan, binary, wanted)
    cubin = binary.cubin
    reports: Mapping[str, Resources] = {}
    if ptx is not None and not cubin:
        cubin, reports = linked(binary.ptx, wanted)
        native = read_cubin(cubin) if cubin else None
    functions = {}
    for entry in plan.entries:
        function = _function(plan, native or ptx, entry)
        # Machine code may lack a record of its parameters, which the PTX has.
        in_ptx = ptx.functions.get(function.symbol) if ptx else None
        report = reports.get(function.symbol)
        functions[entry] = CompiledFunction(
            symbol=function.symbol,
            registers=function.registers,
            static_shared_bytes=function.shared_bytes,
            local_bytes=function.local_bytes,
            spill_store_bytes=report.spill_store_bytes if report else None,
            spill_load_bytes=report.spill_load_bytes if report else None,
            parameter_bytes=in_ptx.parameter_bytes if in_ptx else function.parameter_bytes,
            dynamic_shared_bytes=binary.shared_bytes,
            null_pointers=binary.null_pointers,
            reallocates_registers=function.reallocates_registers,
        )
    return CompiledModule(f"sm_{wanted}", source, functions, cubin, binary.ptx)


def compile_inputs(plan: Plan, architecture: str) -> dict[str, Any]:
    """Return digests of the code, which identify it."""
    binary = code_of(plan, architecture)
    contents = {"cubin": binary.cubin, "ptx": binary.ptx.encode()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return {**digests, "shared_bytes": binary.shared_bytes, "null_pointers": binary.null_pointers}


def code_of(plan: Plan, architecture: str) -> Binary:
    """Return the code in the kernel's source, or from its build rule, once per problem, config and architecture."""
    kernel = plan.kernel
    if kernel.build is None:
        return Binary(cubin=_bytes(plan)) if kernel.source.suffix == ".cubin" else Binary(ptx=kernel.source_text())
    wanted = kernel.architecture or architecture
    asked = id(kernel.build), kernel.name, plan.problem, plan.config, wanted
    if asked not in _built:
        _built[asked] = kernel.build, _build(plan, wanted)
        if len(_built) > _MOST_BUILT:
            _built.popitem(last=False)
    return _built[asked][1]


def _bytes(plan: Plan) -> bytes:
    source = plan.kernel.source
    try:
        return read_bytes(source)
    except OSError as error:
        raise InvalidKernel(f"{plan.kernel.name}: its source {source} cannot be read: {error.strerror}") from None


def _build(plan: Plan, architecture: str) -> Binary:
    """Call the build rule and check its result."""
    kernel = plan.kernel
    assert kernel.build is not None
    try:
        with asking(f"{kernel.name}: its build rule", f"{plan.problem} with {plan.config} on sm_{architecture}"):
            binary = kernel.build(plan.problem, plan.config, architecture)
    except InvalidKernel as error:
        if isinstance(error.__cause__, _ADAPTER_ERRORS):
            raise error.__cause__ from None
        raise
    wrong = "" if isinstance(binary, Binary) else f"{binary!r:.80}, which is no mmcore.Binary"
    if not wrong:
        fields = {name: getattr(binary, name) for name in _FIELDS}
        bad = [name for name, value in fields.items() if type(value) is not _FIELDS[name]]
        bad += [name for name, value in fields.items() if type(value) is int and value < 0]
        wrong = f"a Binary with {bad[0]}={fields[bad[0]]!r:.80}" if bad else ""
    if not wrong and not (binary.cubin or binary.ptx):
        wrong = "a Binary with neither machine code nor PTX"
    if wrong:
        raise InvalidKernel(f"{kernel.name}: its build rule returned {wrong}{_place(kernel.build)}")
    assert isinstance(binary, Binary)
    return binary


def _place(rule: Any) -> str:
    """Return where a build rule is defined, " (matmul.py:7)"; empty if it is not a Python function."""
    code = getattr(inspect.unwrap(rule), "__code__", None)
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""


def _read(plan: Plan, binary: Binary, architecture: str) -> tuple[Code | None, Code | None]:
    """Read the PTX and the machine code, each None if absent, and check them against the architecture."""
    what = _what(plan)
    try:
        ptx = read_ptx(binary.ptx) if binary.ptx else None
        native = read_cubin(binary.cubin) if binary.cubin else None
    except UnreadableCode as error:
        raise InvalidKernel(f"{what} cannot be read: {error}") from None
    if native and not machine_code_runs(native.architecture, architecture):
        runs = f"which does not run on sm_{architecture}"
        raise CompileError(f"{what} is machine code for sm_{native.architecture}, {runs}")
    if ptx and not native and not ptx_runs(ptx.architecture, architecture):
        raise CompileError(f"{what} is PTX for sm_{ptx.architecture}, which sm_{architecture} does not run")
    return ptx, native


def _function(plan: Plan, code: Code | None, entry: str) -> CodeFunction:
    """Return the function with that name, or the only one."""
    assert code is not None
    names = ", ".join(sorted(code.functions))
    if entry in code.functions:
        return code.functions[entry]
    if entry:
        raise InvalidKernel(f"{_what(plan)} has no function {entry}; it has {names or 'none'}")
    if len(code.functions) != 1:
        has = f"has the functions {names}" if names else "has no kernel function"
        raise InvalidKernel(f"{_what(plan)} {has}; entry= says which is launched")
    return next(iter(code.functions.values()))


def _what(plan: Plan) -> str:
    """Return the name of the code for the beginning of an error message."""
    return f"{plan.kernel.name}: {plan.kernel.source.name if plan.kernel.build is None else 'its code'}"
