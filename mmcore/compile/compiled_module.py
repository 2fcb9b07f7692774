"""Compiled code, as a compiler returns it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Binary:
    """Code that a kernel's ``build`` makes: machine code for one architecture, PTX, or both.

    Attributes:
        cubin: machine code, which a GPU loads; made of the PTX by the driver where it is empty.
        ptx: PTX text, which devices without a GPU run; a kernel without it runs on GPUs alone.
        shared_bytes: dynamic shared memory of a block that the code asks for, in bytes, besides what the launch says.
        null_pointers: how many pointers the code takes after the declared arguments; each launch gets null for them.
    """

    cubin: bytes = b""
    ptx: str = ""
    shared_bytes: int = 0
    null_pointers: int = 0


@dataclass(frozen=True)
class CompiledFunction:
    """One compiled ``__global__`` function.

    Attributes:
        symbol: its lowered (mangled) name.
        registers: registers per thread; 0 where they are not known before the driver makes machine code of PTX.
        static_shared_bytes: shared memory that the source declares, per block.
        parameter_bytes: size of each parameter, in order.
        local_bytes: local memory per thread, of arrays, spilled registers and called functions; None if not known.
        spill_store_bytes, spill_load_bytes: bytes that the code of a thread spills and reloads; None if not known.
        dynamic_shared_bytes: shared memory per block that each launch gets besides what it asks for itself.
        null_pointers: parameters at the end that each launch gives null pointers to.
        reallocates_registers: whether its warps change their registers by ``setmaxnreg``; None if not known.
    """

    symbol: str
    registers: int
    static_shared_bytes: int
    local_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    parameter_bytes: tuple[int, ...] = ()
    dynamic_shared_bytes: int = 0
    null_pointers: int = 0
    reallocates_registers: bool | None = None


@dataclass(frozen=True)
class CompiledModule:
    """Machine code and PTX from one compilation.

    Attributes:
        architecture: what it was compiled for, such as "sm_90".
        source: name of the .cu file.
        functions: the requested functions, by name expression.
        cubin, ptx: machine code, empty where the driver makes it of the PTX; PTX text, empty where there is none.
        excluded_host_code: host code that was not compiled: name, path, first and last line, and reason of each part.
    """

    architecture: str
    source: str
    functions: dict[str, CompiledFunction]
    cubin: bytes
    ptx: str
    excluded_host_code: list[dict[str, str | int]] = field(default_factory=list)
