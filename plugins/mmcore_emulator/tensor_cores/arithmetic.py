"""Arithmetic of tensor cores: how one instruction adds up the products of a row and a column, bit for bit.

A tensor core aligns the products of a step and C to the largest exponent among them, E. It cuts off all bits more than
``kept`` places below 2^E, and adds up the rest exactly. The exponent of a product is the sum of its factors' exponents,
and subnormal factors have the least exponent of their type: nothing is normalised before the sum.

Sources: Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, 2021. microsoft/MMA-Sim and
north-numerical-computing/MATLAB-tensor-core: ``mmasim_comparison`` and ``published_outputs`` in ``bench/studies/``
compare with them. For compute capability 9.0, measurements on an H200, which ``bench.studies.tensor_cores`` repeats.
"""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_emulator.errors import UnsupportedInstruction

#: Exponents of the least normal numbers.
LEAST_EXPONENTS = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}
#: An exponent so small that it is never the largest.
NEVER = -4000
_WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8}
_INTEGERS = ("s8", "u8", "s4", "u4")
_KEPT = {(7, 0): 23, (7, 5): 24, (8, 0): 24, (8, 6): 24, (8, 7): 24, (8, 9): 24, (9, 0): 25}
_SINCE = {"f16": (7, 0), "bf16": (8, 0), "tf32": (8, 0), "e4m3": (8, 9), "e5m2": (8, 9)}


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic of one instruction on one architecture."""

    # "f32" and "float22", cut off to 24 and 14 significant bits; "f16", rounded to nearest even, and "f16 of float22",
    # cut off before; "f64", a chain of fused multiply-adds; "s32".
    result: str
    kept: int = 0  # bits below 2^E that every product and C keep
    at_once: int = 1  # products of one step; the next step adds to its result
    least: tuple[int, int, int] = (0, 0, 0)  # the least exponents of A's, B's and C's elements
    floor: int = -133  # the least E: zeros count with it
    # The exponents of a zero in A or B, and in C; None for the least of its type.
    zero: int | None = NEVER
    zero_of_c: int | None = NEVER
    signed_zeros: bool = False  # a negative sum too small for a float32 gives −0; else +0
    # The instruction is two steps from zero, over the k with k mod 4 < 2 and over the others, and an ordinary addition
    # of C.
    unpacked: bool = False
    subroutine: bool = False  # the compiler calls a subroutine of float32 multiply-adds instead of a tensor core
    saturate: bool = False  # integers are clamped to 32 bits; else they wrap around


def arithmetic_of(
    capability: tuple[int, int],
    instruction: str,
    a_type: str,
    b_type: str,
    result: str,
    k: int,
    *,
    c_type: str | None = None,
    saturate: bool = False,
) -> Arithmetic:
    """Return the arithmetic of "mma" or "wgmma" with PTX's types of A, B and the result, and ``k`` products.

    C has the type of the result, unless ``c_type`` says otherwise.

    Raises:
        UnsupportedInstruction: the architecture has no such instruction, or its arithmetic is unknown.
    """
    there = instruction == "mma" or (instruction == "wgmma" and capability == (9, 0))
    if there and a_type in _INTEGERS and b_type in _INTEGERS and result == "s32" and capability >= (7, 5):
        return Arithmetic("s32", saturate=saturate)
    if a_type == b_type == result == "f64" and instruction == "mma" and capability >= (8, 0):
        return Arithmetic("f64")
    _check(capability, instruction, a_type, b_type, result)
    if a_type == "f16" and k == 4:
        return _of_volta(capability, result, c_type or result)
    least = (LEAST_EXPONENTS[a_type], LEAST_EXPONENTS[b_type], LEAST_EXPONENTS[result])
    kept = _KEPT[capability]
    floor = _floor(kept, result)
    if _WIDTHS[a_type] == 8:
        if instruction == "mma" and capability == (9, 0):
            return Arithmetic(result, kept, k // 2, (-14, -14, least[2]), floor, unpacked=True)
        at_once = k if instruction == "wgmma" else 16
        return Arithmetic("float22" if result == "f32" else result, 13, min(k, at_once), least, floor)
    at_once = {(7, 0): 4, (9, 0): k}.get(capability, 128 // _WIDTHS[a_type])
    return Arithmetic(result, kept, min(k, at_once), least, floor)


def _of_volta(capability: tuple[int, int], result: str, c_type: str) -> Arithmetic:
    """Return the arithmetic of m8n8k4 with float16, Volta's instruction.

    Turing executes it as Volta does: its machine code is HMMA.884, which reads a C of float16 as such. Later
    architectures have no such instruction.
    """
    if capability >= (8, 0):
        return Arithmetic(result, at_once=4 if result == "f32" else 2, subroutine=True)
    kept = _KEPT[(7, 0)]
    least = (LEAST_EXPONENTS["f16"], LEAST_EXPONENTS["f16"], LEAST_EXPONENTS[c_type])
    return Arithmetic(result, kept, 4, least, _floor(kept, result))


def _floor(kept: int, result: str) -> int:
    """Return the least E of an architecture: -131, -132 and -133 for float32, -19, -20 and -21 for float16."""
    return LEAST_EXPONENTS[result] + 18 - kept


def _check(capability: tuple[int, int], instruction: str, a_type: str, b_type: str, result: str) -> None:
    known = (
        capability in _KEPT
        and {a_type, b_type} <= _SINCE.keys()
        and max(_SINCE[a_type], _SINCE[b_type]) <= capability
        and _WIDTHS[a_type] == _WIDTHS[b_type]
        and (a_type == b_type or _WIDTHS[a_type] == 8)
        and (result == "f32" or (result == "f16" and a_type in ("f16", "e4m3", "e5m2")))
        and (instruction == "mma" or (instruction == "wgmma" and capability == (9, 0)))
    )
    if not known:
        what, where = f"{instruction} {result}.{a_type}.{b_type}", ".".join(map(str, capability))
        raise UnsupportedInstruction(f"the arithmetic of {what} on compute capability {where} is not known")
