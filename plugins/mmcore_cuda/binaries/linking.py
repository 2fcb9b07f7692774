"""Linking of PTX into machine code, by nvJitLink or by the driver."""

from __future__ import annotations

import functools
import warnings


@functools.lru_cache(maxsize=64)
def machine_code(ptx: str, architecture: str) -> bytes:
    """Return machine code for an architecture such as "90a"; empty if it cannot be made here.

    Errors in the PTX are reported when a device loads it.
    """
    from cuda.core import Linker, LinkerOptions, ObjectCode

    try:
        with warnings.catch_warnings():
            # Without nvJitLink cuda.core warns and uses the driver, which suffices for a single PTX.
            warnings.simplefilter("ignore", RuntimeWarning)
            linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=f"sm_{architecture}"))
        return bytes(linker.link("cubin").code)
    except Exception:
        return b""
