"""Changes of how threads fill and store the fragments of ``mma``: rows, columns, halves of a register, elements."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, ancestors, is_stored_to, text_of
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_PACKED = re.compile(r"(?:__)?(?:halves|floats|make_|pack)_?\w*")
_SUMS = re.compile(r"((?:\w+::)*)fragment\s*<[^;]*accumulator[^;]*>\s*(\w+)\s*;")
_INDEX = re.compile(r"(?:(.*\S)\s*\+\s*)?(\d+)")
_QUOTIENT = {("/", "4"): 4, ("/", "8"): 8, (">>", "2"): 4, (">>", "3"): 8}
_REMAINDER = {("%", "4"): 4, ("%", "8"): 8, ("&", "3"): 4, ("&", "7"): 8}


def fragment_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield the changes of the fragments that the nodes of a kernel and its device functions fill."""
    if _multiplies(nodes):
        yield from _other_places(source, nodes)
        yield from _exchanged_halves(source, nodes)
        yield from _exchanged_elements(source, nodes)


def _multiplies(nodes: Sequence[Node]) -> bool:
    """Return whether an asm statement among the nodes is an ``mma`` or ``wgmma``."""
    return any(each.type == "gnu_asm_expression" and "mma" in text_of(each) for each in nodes)


def filled_fragments(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that fill a fragment of sums with zeros which nothing sets before it is added to."""
    text = source.decode()
    for node in (each for each in nodes if each.type == "declaration"):
        match = _SUMS.match(text_of(node))
        if match is not None and not re.search(rf"(?:fill_fragment|load_matrix_sync)\s*\(\s*{match[2]}\b", text):
            fill = f"{match[1]}fill_fragment({match[2]}, 0)"
            yield replaced(source, [(node, f"{text_of(node)} {fill};")], f"{fill} behind its declaration")


def _other_places(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which a thread's row is its quotient by 4 and its column the remainder, not the reverse.

    Eight groups of four threads hold a fragment of eight rows.
    """
    places: dict[tuple[str, int], list[tuple[Node, str]]] = {}
    for node in (each for each in nodes if each.type == "binary_expression"):
        thread, sign, number = map(text_of, node.children)
        for divisors, other in ((_QUOTIENT, f"{thread} % 4"), (_REMAINDER, f"{thread} / 4")):
            if (divisor := divisors.get((sign, number))) is not None:
                places.setdefault((thread, divisor), []).append((node, other))
    for changes in places.values():
        words = dict.fromkeys(f"{other} instead of {text_of(node)}" for node, other in changes)
        if len(words) > 1:
            yield replaced(source, changes, " and ".join(words))


def _exchanged_halves(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which the two halves of a register have changed places, in all pairs of a function or in one."""
    pairs: dict[str, list[list[tuple[Node, str]]]] = {}
    for node in (each for each in nodes if each.type == "call_expression"):
        name, arguments = text_of(node.children[0]), node.child_by_field_name("arguments")
        values = arguments.named_children if arguments is not None else []
        if len(values) == 2 and _PACKED.fullmatch(name):
            pairs.setdefault(name, []).append([(values[0], text_of(values[1])), (values[1], text_of(values[0]))])
    for name, several in pairs.items():
        what = f"the arguments of {name} exchanged"
        for changes in several:
            yield replaced(source, changes, what)
        if len(several) > 1:
            yield replaced(source, [each for changes in several for each in changes], f"{what} everywhere, as")


def _exchanged_elements(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which two elements of a thread's fragment, such as ``c[1]`` and ``c[2]``, have changed places.

    They are exchanged at all places that read them. The operands of instructions are as they were.
    """
    places: dict[str, dict[str, list[Node]]] = {}
    for node in (each for each in nodes if each.type == "subscript_expression" and not is_stored_to(each)):
        (number,) = node.children[1].named_children[:1]
        if number.type == "number_literal" and all(each.type != "gnu_asm_expression" for each in ancestors(node)):
            places.setdefault(text_of(node.children[0]), {}).setdefault(text_of(number), []).append(number)
    for array, numbers in places.items():
        for one, other in itertools.combinations(sorted(numbers), 2):
            changes = [*((each, other) for each in numbers[one]), *((each, one) for each in numbers[other])]
            yield replaced(source, changes, f"{array}[{one}] and {array}[{other}] exchanged, as")


def missing_elements(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which the one element of a thread's fragment that is never read replaces one that is read twice.

    The elements are those of four or eight indices that differ in a number, such as ``d[4 * i + 1]``.
    """
    places: dict[tuple[str, str], dict[int, list[Node]]] = {}
    several = nodes if _multiplies(nodes) else ()
    for node in (each for each in several if each.type == "subscript_expression" and not is_stored_to(each)):
        (index,) = node.children[1].named_children[:1]
        match = _INDEX.fullmatch(text_of(index))
        base, number = (match[1] or "", int(match[2])) if match is not None else (text_of(index), 0)
        if all(each.type != "gnu_asm_expression" for each in ancestors(node)):
            places.setdefault((text_of(node.children[0]), base), {}).setdefault(number, []).append(index)
    for (array, base), numbers in places.items():
        count = max(numbers) + 1
        missing = {*range(count)} - numbers.keys()
        if count in (4, 8) and len(missing) == 1:
            new = f"{base} + {missing.pop()}" if base else str(missing.pop())
            for index in (each for same in numbers.values() if len(same) > 1 for each in same):
                yield replaced(source, [(index, new)], f"{array}[{new}] instead of {array}[{text_of(index)}]")
