"""Bugs of calls of cuBLAS, which stores matrices by columns: leading dimensions and the order of the operands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.exchanged_matrices import letter
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode, name_of
from mmcore_sources.cuda_file.host_bugs.leading_dimensions import is_wrong_leading, only_where

_GEMM = re.compile(r"cublas(?:[SDCZH]gemm(?:_v2|_64)?(StridedBatched|Ex)?|Gemm(StridedBatched)?Ex)(?:_v2|_64)?")
_BY_COLUMNS = re.compile(r"col(?:umn)?s?[-_ ]?major|IDX2[CF]|fortran", re.IGNORECASE)


class Product(NamedTuple):
    """A call op(first)·op(second), m×n, with sums over k, of matrices that are stored by columns."""

    operations: tuple[str, str]
    sizes: tuple[Node, Node, Node]  # m, n, k
    pointers: tuple[Node, Node, Node]
    leading: tuple[Node, Node, Node]


def wrong_leading_dimension(host: HostCode) -> Iterator[Bug]:
    """Find a leading dimension that is smaller than a column of its matrix, or is the length of another one."""
    for call in host.calls:
        product = _product(call)
        fault = _small(host, call, product) if product else None
        if fault:
            by_rows = f"; {_by_rows(product)}" if product and product.operations == ("N", "N") else ""
            yield Bug("wrong-leading-dimension", call.line, fault + by_rows)


def exchanged_operands(host: HostCode, matrices: Mapping[str, str] | None) -> Iterator[Bug]:
    """Find a product B·A of matrices that are stored by rows, although A·B is meant.

    ``matrices`` has the names in host code of the A, B and C of the file's kernel; None if the file has no kernel.
    """
    if matrices is None and _BY_COLUMNS.search(host.text):
        return
    for call in host.calls:
        product = _product(call)
        if product is None or product.operations != ("N", "N"):
            continue
        first, second = (_matrix(name_of(each), matrices or {}) for each in product.pointers[:2])
        if (first, second) == ("A", "B") and _small(host, call, product) is None:
            a, b = map(name_of, product.pointers[:2])
            as_usual = "C++ usually" if matrices is None else "the kernel of this file"
            reading = f"computes {b}·{a} of matrices stored by rows, as {as_usual} stores them"
            yield Bug("exchanged-operands", call.line, f"{call.name} {reading}; {_by_rows(product)}")


def _by_rows(product: Product) -> str:
    """Return the call that computes a product of matrices that are stored by rows."""
    (m, n, k), (a, b, c) = map(text_of, product.sizes), map(name_of, product.pointers)
    return f"gemm(…, {n}, {m}, {k}, …, {b}, {n}, {a}, {k}, …, {c}, {n}) computes {a}·{b} of matrices stored by rows"


def _small(host: HostCode, call: Call, product: Product) -> str | None:
    """Return the fault of the first leading dimension that is too small; None if all are large enough."""
    m, n, k = product.sizes
    rows = [m if product.operations[0] == "N" else k, k if product.operations[1] == "N" else n, m]
    for pointer, leading, needed in zip(product.pointers, product.leading, rows, strict=True):
        numbers = [host.value(each, call.scope) for each in (leading, needed)]
        others = {_word(host, each, call) for each in (m, n, k)} - {_word(host, needed, call)}
        if is_wrong_leading(*numbers, is_size=_word(host, leading, call) in others):
            unless = "" if None not in numbers else only_where(text_of(leading), text_of(needed))
            columns = f"whose columns have {text_of(needed)} elements as cuBLAS stores it{unless}"
            return f"{text_of(leading)} is the leading dimension of {name_of(pointer)}, {columns}"
    return None


def _product(call: Call) -> Product | None:
    """Return the product of a call; None for other calls, and for operations that are variables."""
    match, values = _GEMM.fullmatch(call.name), list(call.arguments)
    if values and values[0].type == "char_literal":  # the first interface of cuBLAS has no handle
        values.insert(0, values[0])
    if match is None or len(values) < 14:
        return None
    typed = call.name.endswith("Ex")
    strided = "Strided" in call.name
    step = 2 + typed + strided  # pointer, type, leading dimension, stride
    a = 7
    b = a + step
    c = b + step + 1  # beta comes before C
    operations = tuple(text_of(each).rpartition("OP_")[2].strip("'").upper() for each in values[1:3])
    if c + 1 + typed >= len(values) or not all(each in ("N", "T", "C") for each in operations):
        return None
    first, second = operations
    pointers, leading = (values[a], values[b], values[c]), tuple(values[each + 1 + typed] for each in (a, b, c))
    return Product((first, second), (values[3], values[4], values[5]), pointers, (leading[0], leading[1], leading[2]))


def _word(host: HostCode, node: Node, call: Call) -> str:
    """Return the text of a size, or of the size that it was set to."""
    text = text_of(node).strip("() ")
    values = host.definitions(text, call.scope) if node.type == "identifier" else []
    return text_of(values[0]) if len(values) == 1 and values[0].type == "identifier" else text


def _matrix(name: str, matrices: Mapping[str, str]) -> str:
    """Return the letter of a matrix, by the kernel's arguments or else by its name; empty for others."""
    letters = [each for each, array in matrices.items() if array == name]
    return letters[0] if letters else letter(name)
