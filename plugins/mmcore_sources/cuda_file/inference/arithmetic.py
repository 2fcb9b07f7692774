"""The arithmetic of a kernel's products and sums, where its instructions and fragments show it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_sources.cuda_file.inference.reached_code import reached_code

_TF32 = re.compile(r"\bprecision::tf32\b|\.tf32\b")
_NARROW = {"float16": r"(?:__half|half)", "bfloat16": r"(?:__)?nv_bfloat16"}
_ACCUMULATORS = re.compile(r"\baccumulator\b[^;>]*>")
_MMA = r'mma\.[\w.\s"#]*'  # in one string or in several, perhaps after \n
_WIDE_MMA = re.compile(_MMA + r'\.f32["\s]*\.(?:f16|bf16)["\s]*\.(?:f16|bf16)\b')
_WIDE_SUMS = re.compile(r"\.f32\.(?:f16|bf16)\.|\bfloat\b[^;]*\b(?:sum|acc)\w*")
_NARROW_MMA = re.compile(_MMA + r'\.f16["\s]*\.f16["\s]*\.f16\b')
_TENSOR_CORES = re.compile(r"mma(?:\b|_|\d)")
_SUMS = {f"{name}{width}" for name in ("__hfma", "__hadd", "hfma", "hadd") for width in ("", "2")}
_PRODUCTS = {"__hmul", "__hmul2"}


def uses_tf32(source: Program, function: Function) -> bool:
    """Return whether a kernel's tensor cores multiply float32 elements as TF32."""
    return _TF32.search(reached_code(source, function)) is not None


def line_of_tf32(source: Program) -> int:
    """Return the first line of a source with products of TF32; 0 if a header has it."""
    return next((line for line, text in enumerate(source.text.splitlines(), 1) if _TF32.search(text)), 0)


def rounded_products(source: Program, function: Function) -> str:
    """Return the clause that a line rounds products to a 16-bit type; "" without one, or if sums of it are shown."""
    code = words(reached_code(source, function).encode())
    of_products = _PRODUCTS & code if _SUMS.isdisjoint(code) else ()
    for line, text in enumerate(source.text.splitlines(), 1):
        for name in sorted(words(text.encode()) & {*of_products}):
            return f"{name} in line {line} rounds them"
    return ""


def uses_tensor_cores(source: Program, function: Function) -> bool:
    """Return whether a kernel has instructions or functions of tensor cores."""
    return _TENSOR_CORES.search(reached_code(source, function)) is not None


def may_have_wide_sums(source: Program, function: Function, types: Mapping[str, str]) -> bool:
    """Return whether a kernel has sums of float beside narrow ones, whichever makes C.

    ``types`` are those that its template's parameters stand for.
    """
    code = _with_types(reached_code(source, function), types)
    if fragments := _ACCUMULATORS.findall(code):
        return any(re.search(r"\bfloat\b", each) for each in fragments)
    return any(pattern.search(code) for pattern in (_WIDE_SUMS, _WIDE_MMA))


def shown_sums(source: Program, function: Function, dtype: str, types: Mapping[str, str]) -> tuple[str, str]:
    """Return the type in which a kernel of a 16-bit type keeps its sums, and what shows it.

    Both are empty if nothing shows it, or if narrow and wide sums occur. ``types`` are those that the template's
    parameters stand for.
    """
    code = _with_types(reached_code(source, function), types)
    if not (_SUMS | _PRODUCTS).isdisjoint(words(code.encode())):
        return dtype, "the source adds with __hadd or __hfma"
    kind = _NARROW[dtype]
    if fragments := _ACCUMULATORS.findall(code):  # they decide, whatever else the file has
        several = ((dtype, kind), ("float32", "float"))
        shown = [name for name, word in several if all(re.search(rf"\b{word}\b", each) for each in fragments)]
        return (shown[0], "the type of the source's accumulator fragments") if shown else ("", "")
    wide, narrow = _WIDE_MMA.search(code), _NARROW_MMA.search(code)
    if wide and not narrow:
        return "float32", "the type of the source's mma instructions"
    if _WIDE_SUMS.search(code):
        return "", ""
    if narrow:
        return dtype, "the type of the source's mma instructions"
    declared = re.findall(rf"\b{kind} (\w+)(?: ?\[[^;=]*)? ?[=;]", code)
    summed = (name for name in declared if re.search(rf"\b{name}\b(?: ?\[[^;=]*\])? ?\+=", code))
    return next(((dtype, f"the type of {name}") for name in summed), ("", ""))


def _with_types(code: str, types: Mapping[str, str]) -> str:
    """Return the text of a template with types in place of its parameters."""
    return re.sub(r"(?:\w+::)?\w+", lambda word: types.get(word[0], word[0]), code) if types else code
