"""The element types of a kernel, from the types of its pointers and what it sums in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmcore.errors import InvalidKernel, LacksOption
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import Program
from mmcore_sources.cuda_file.inference.arithmetic import rounded_products, shown_sums, uses_tf32
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.parameters import Open
from mmcore_sources.cuda_file.inference.roles import ELEMENTS, Roles, scalar_type

DIGITS = {"float16": "have 11 bits and end at 65504", "bfloat16": "have 8 bits"}
"""The digits of narrow sums, by their type."""

ACCUMULATOR = "--accumulator"
"""The option that changes the type of sums, or of products that are rounded before they are added."""

_UNSIGNED = ("unsigned", "unsigned int", "uint", "uint32_t")
_WORDS = (*_UNSIGNED, "int", "int32_t")


def element_types(
    source: Program,
    function: Function,
    roles: Roles,
    chosen: Open,
    given: Mapping[str, Any],
    packed: Mapping[str, tuple[str, str]],
    of_maps: Mapping[str, str],
) -> tuple[dict[str, Any], list[Note]]:
    """Return the element types, from the types of the pointers, or of the bytes ``packed`` in their words.

    ``of_maps`` contains what shows the type of a matrix that is passed as a tensor map.
    """
    types = {each.name: each.type for each in function.parameters}
    types |= {each.name: pointer.type for each in function.parameters for pointer in each.members if pointer.pointer}
    notes, types_by_name = [], {}
    for name, matrix, option in (("dtype", "A", "--dtype"), ("output", "C", "--output")):
        word = types[roles.pointers[matrix]]
        for _ in range(3):
            macro = source.macros[word].text if word in source.macros else word
            word = source.types.get(word) or macro
        if name in given:
            continue
        if word in _WORDS and roles.pointers[matrix] in packed:
            of_bytes, array = packed[roles.pointers[matrix]]
            notes.append(
                Note(f"elements of {matrix}", ELEMENTS[of_bytes], f"the bytes of {array} in each {word}", option)
            )
            word = of_bytes
        if word in _UNSIGNED:
            notes.append(Note(f"elements of {matrix}", "int32", f"{word} agrees modulo 2^32", option))
            word = "int32_t"
        if "complex" in word.casefold():
            raise InvalidKernel(f"the elements of {matrix} are of type {word}: products of complex numbers are not run")
        if word not in ELEMENTS:
            multiplied = ", ".join(dict.fromkeys(ELEMENTS.values()))
            if scalar := scalar_type(word):
                of_type = f"the elements of {matrix} are of type {word}; only products of {multiplied} are run"
                if scalar != "uint16":
                    raise InvalidKernel(of_type)
                bits = f"{of_type}; {option} names the type whose bits they are"
                raise LacksOption(bits, f"{option} bfloat16", f"{option} float16")
            known = f"none of {multiplied}; give one with {option}"
            raise LacksOption(
                f"the elements of {matrix} are of type {word}, which is {known}", "--dtype float32 --output float32"
            )
        types_by_name[name] = ELEMENTS[word]
        if matrix in of_maps:
            notes.append(Note(f"elements of {matrix}", ELEMENTS[word], of_maps[matrix], option))
    if types_by_name.get("dtype") == "float32" and uses_tf32(source, function):
        types_by_name["dtype"] = "tf32"
        notes.append(Note("products of", "tf32", "the source's tensor cores multiply that", "--dtype float32"))
    dtype = types_by_name.get("dtype", given.get("dtype"))
    if dtype in ("float16", "bfloat16") and "accumulator" not in given:
        shown, why = shown_sums(source, function, dtype, chosen.types)
        types_by_name["accumulator"] = shown or "float32"
        why += f"; such sums {DIGITS[dtype]}" if shown == dtype else ""
        why = why or "sums of 16-bit products are taken to be that"
        rounded = rounded_products(source, function)
        what, why = ("products in", rounded) if rounded else ("sums in", why)
        notes.append(Note(what, types_by_name["accumulator"], why, ACCUMULATOR, guessed=not shown))
    why = "the type of the template's elements"
    return types_by_name, [*notes, *(Note(name, word, why, "--entry") for name, word in chosen.types.items())]
