"""Bulk copies: the forms of ``cp.async.bulk`` and its relatives, and the operations of their reductions.

Reference: PTX ISA, "Data Movement and Conversion Instructions: Bulk copy" and "Tensor copy".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.atomics import atomic_operation
from mmcore_emulator.isa.entries import OperandSpec
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.machine.violations import Problem, first_of
from mmcore_emulator.numerics.floats import flushed
from mmcore_emulator.numerics.types import NUMPY, Values

BULK_ALIGNMENT = 16
"""Alignment in bytes of the addresses and sizes of bulk copies without a tensor map."""

OPERANDS = {
    **{name: OperandSpec("address") for name in ("target", "source", "mbarrier")},
    "tensor": OperandSpec("tensor"),
    "offsets": OperandSpec("source", "u16", 0),
    "size": OperandSpec("source", "u32"),
    "mask": OperandSpec("source", "u16"),
    "policy": OperandSpec("source", "b64"),
    "count": OperandSpec("source", "s32"),
}


@dataclass(frozen=True)
class BulkCopy:
    """One form of a bulk copy."""

    # "copy", "reduce", "prefetch" (to the second-level cache), "prefetch_map" (of a tensor map itself), "commit_group"
    # or "wait_group".
    action: str
    axes: int = 0  # axes of the tensor; 0 for a copy of plain bytes
    # "global", "cta" or "cluster" (shared memory), or "" for none.
    source: str = ""
    target: str = ""
    completion: str = ""  # how its end shows: "mbarrier" (completes bytes on one), "bulk_group", or ""
    multicast: bool = False  # true if it goes to all blocks of the cluster that a mask names
    reduction: str = ""  # "add", "min", "max", "inc", "dec", "and", "or" or "xor"
    kind: str = ""  # PTX type of the elements of a reduction of plain bytes; a tensor's is in its map
    read: bool = False  # for "wait_group", true if it only waits until the sources have been read
    im2col: bool = False  # true if it copies a column of pixels instead of a box
    # Its operands in order: "target", "source" (addresses), "tensor" (a map's address and coordinates),
    # "offsets" (along W, H and D), "size" (bytes), "mbarrier" (address), "mask" (16 bits, one for each block of the
    # cluster), "policy" (of the cache), "bytes" (16 bits, which bytes of each 16), "count" (of groups).
    operands: tuple[str, ...] = ()

    @property
    def specs(self) -> tuple[OperandSpec, ...]:
        """Specifications of the operands."""
        return tuple(OPERANDS[name] for name in self.operands)

    def named(self, operands: Sequence[list[Values]]) -> dict[str, list[Values]]:
        """Return the values of the operands by their names; offsets in im2col mode follow the coordinates."""
        named = dict(zip(self.operands, operands, strict=True))
        if self.im2col:
            no_offsets = [np.zeros((1,) * 6, np.int32)] * (self.axes - 2)
            named["tensor"] = [*named["tensor"], *named.pop("offsets", no_offsets)]
        return named


_SPACES = {"global": "global", "shared::cta": "cta", "shared::cluster": "cluster"}
_COMPLETIONS = {"mbarrier::complete_tx::bytes": "mbarrier", "bulk_group": "bulk_group"}
_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_REDUCED_KINDS = ("u32", "s32", "u64", "s64", "b32", "b64", "f16", "bf16", "f32", "f64")
# The possible source, target and completion.
_COPIES = {
    ("global", "cluster", "mbarrier"),
    ("global", "cta", "mbarrier"),
    ("cta", "cluster", "mbarrier"),
    ("cta", "global", "bulk_group"),
}


def parse_copy(opcode: tuple[str, ...]) -> BulkCopy | None:
    """Return the form of a bulk copy of a tensor or of bytes; None for another instruction."""
    if opcode[-1:] == ("tensormap",) and opcode[0] == "prefetch" and len(opcode) <= 3:
        return BulkCopy("prefetch_map", operands=("source",))
    reducing = opcode[:4] == ("cp", "reduce", "async", "bulk")
    if not reducing and opcode[:3] != ("cp", "async", "bulk"):
        return None
    rest = list(opcode[4 if reducing else 3 :])
    if not reducing and rest and rest[0] in ("commit_group", "wait_group"):
        return _parse_group(rest)
    action = "reduce" if reducing else "prefetch" if rest[:1] == ["prefetch"] else "copy"
    if action == "prefetch":
        rest = rest[1:]
    axes = 0
    if rest[:1] == ["tensor"]:
        if len(rest) < 2 or rest[1] not in ("1d", "2d", "3d", "4d", "5d"):
            return None
        axes, rest = int(rest[1][0]), rest[2:]
    if action == "prefetch":
        return _parse_prefetch(axes, rest)
    return _parse_transfer(action, axes, rest)


def _parse_group(rest: list[str]) -> BulkCopy | None:
    if rest == ["commit_group"]:
        return BulkCopy("commit_group")
    if rest in (["wait_group"], ["wait_group", "read"]):
        return BulkCopy("wait_group", read="read" in rest, operands=("count",))
    return None


def _parse_prefetch(axes: int, rest: list[str]) -> BulkCopy | None:
    if rest[:2] != ["L2", "global"]:
        return None
    hint, tile, im2col = (_take(rest, name) for name in ("L2::cache_hint", "tile", "im2col"))
    if len(rest) > 2 or (tile and not axes) or (im2col and (tile or axes < 3)):
        return None
    operands = ["tensor", *["offsets"] * im2col] if axes else ["source", "size"]
    return BulkCopy("prefetch", axes, "global", im2col=im2col, operands=(*operands, *["policy"] * hint))


def _parse_transfer(action: str, axes: int, rest: list[str]) -> BulkCopy | None:
    if len(rest) < 3 or rest[0] not in _SPACES or rest[1] not in _SPACES:
        return None
    target, source = _SPACES[rest[0]], _SPACES[rest[1]]
    rest = rest[2:]
    hint, multicast, masked, tile, whole, im2col = (
        _take(rest, name)
        for name in (
            *("L2::cache_hint", "multicast::cluster", "cp_mask", "tile", "noftz"),
            "im2col_no_offs" if target == "global" else "im2col",
        )
    )
    completion = next((_COMPLETIONS[each] for each in rest if each in _COMPLETIONS and _take(rest, each)), "")
    reduction = next((each for each in _REDUCTIONS if action == "reduce" and _take(rest, each)), "")
    plain_reduction = action == "reduce" and not axes
    kind = next((each for each in _REDUCED_KINDS if plain_reduction and _take(rest, each)), "")
    allowed = {
        "way": (source, target, completion) in _COPIES and not (action == "reduce" and source == "global"),
        "tensor": not axes or source == "global" or target == "global",
        "reduction": (action == "reduce") == bool(reduction) and plain_reduction == bool(kind),
        "multicast": not multicast or (source, target) == ("global", "cluster"),
        "mask": not masked or (action == "copy" and not axes and target == "global"),
        "tile": not tile or axes > 0,
        "im2col": not im2col or (axes > 2 and not tile),
        "noftz": whole == (reduction == "add" and kind in ("f16", "bf16")),
    }
    if rest or not all(allowed.values()):
        return None
    if axes:
        operands = ["tensor", "source"] if target == "global" else ["target", "tensor"]
    else:
        operands = ["target", "source", "size"]
    extra = ["mbarrier"] * (completion == "mbarrier") + ["offsets"] * (im2col and target != "global")
    extra += ["mask"] * multicast + ["policy"] * hint
    return BulkCopy(
        action,
        axes,
        source,
        target,
        completion,
        multicast,
        reduction,
        kind,
        im2col=im2col,
        operands=(*operands, *extra, *["bytes"] * masked),
    )


def _take(rest: list[str], name: str) -> bool:
    """Remove a qualifier once; return True if it was there."""
    if name not in rest:
        return False
    rest.remove(name)
    return True


def bulk_problems(target: Values, source: Values, size: Values) -> list[Problem]:
    """Return the misuse of addresses (uint64) and sizes (any integers, in bytes) by copies without a tensor map."""
    misuses = []
    for name, values in (("target", target), ("source", source), ("size", size)):
        rest = values & values.dtype.type(BULK_ALIGNMENT - 1)
        misuses.append(Problem(rest != 0, f"its {name} is no multiple of {BULK_ALIGNMENT} bytes"))
    return first_of(misuses)


Merge: TypeAlias = Callable[[Values, Values], Values]
"""A map from the elements in memory and the copied ones, of any size, to the new elements."""

_OF_GLOBAL = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}
_OF_SHARED = {
    "add": ("u32", "s32", "u64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}
OF_TENSORS = {
    "uint32": "u32",
    "int32": "s32",
    "uint64": "u64",
    "int64": "s64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


def merge_of(reduction: str, kind: str, target: str = "global") -> Merge | None:
    """Return the reduction of elements of a PTX type in "global" or other memory; None for an unknown one."""
    if kind not in (_OF_GLOBAL if target == "global" else _OF_SHARED)[reduction]:
        return None
    atomic = atomic_operation(frozenset((reduction, kind, *(("noftz",) if kind in ("f16", "bf16") else ()))))
    assert atomic is not None
    return partial(_merged, atomic.combine, atomic.kind)


def merge_of_tensor(reduction: str, kind: str) -> Merge | None:
    """Return the reduction of a tensor's elements, whose type is named as in its map."""
    element = OF_TENSORS.get(kind, "")
    bits = f"b{element[1:]}" if element and element[0] in "us" else element
    return merge_of(reduction, bits if reduction in ("and", "or", "xor") else element)


def _merged(combine: Combine, kind: str, there: Values, coming: Values) -> Values:
    """Combine both as elements of the type; float32 flushes subnormal numbers, as atomic additions do."""
    one, other = (np.ascontiguousarray(each).view(NUMPY[kind]) for each in (there, coming))
    if kind == "f32":
        one, other = flushed(one), flushed(other)
    result = np.asarray(combine(one, other))
    return np.ascontiguousarray(flushed(result) if kind == "f32" else result).view(there.dtype)
