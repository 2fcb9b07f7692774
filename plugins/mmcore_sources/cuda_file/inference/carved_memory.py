"""The dynamic shared memory of a kernel without a launch, from the structures that its body places there."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Mapping

from mmcore.kernel.geometry import ceil_div
from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import Node, identifiers, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.type_sizes import type_size

_ALIGNMENT = 128  # bytes that a launch's dynamic shared memory is usually a multiple of
_UNSIZED = re.compile(r"\bextern\b[^;{]*\b__shared__\b[^;{]*?(\w+)\s*\[\s*\]\s*;")
_POINTER = r"\s*(?:const\s+)?(?:struct\s+)?([\w:]+(?:<[^<>]*>)?)\s*[*&]\s*"
_FORMS = {"cast_expression": re.compile(_POINTER), "call_expression": re.compile(rf"reinterpret_cast\s*<{_POINTER}>")}


def carved_bytes(reader: Reader, body: Body) -> ast.expr | None:
    """Return the bytes of the largest structure in an ``extern __shared__`` array, and those before it.

    None if there is no structure whose size can be read.
    """
    bytes_ = list[ast.expr]()
    for type_, value in _casts(body):
        try:
            size = type_size(reader, type_, file=root_of(body.function.body))
            before = [reader.number(each) for each in _added(body, value)]
        except Unreadable:
            continue
        if size is not None and constant(size.alignment) != 1:
            bytes_.append(_sum([size.nbytes, *before]))
    numbers = list(map(constant, bytes_))
    known = [number for number in numbers if number is not None]
    if bytes_ and len(known) == len(bytes_):
        return ast.Constant(ceil_div(max(known), _ALIGNMENT) * _ALIGNMENT)
    return bytes_[0] if len(bytes_) == 1 else ast.Call(ast.Name("max"), bytes_, []) if bytes_ else None


def instance_sizes(reader: Reader, body: Body, arguments: Mapping[str, str]) -> dict[str, ast.expr]:
    """Return the size of each structure in an ``extern __shared__`` array by ``sizeof(Tiles<4>)``, as for ``f<4>``.

    ``arguments`` are those of the kernel's template by name. The size is an expression in the config's parameters.
    """
    sizes = dict[str, ast.expr]()
    for type_, _ in _casts(body):
        launched = re.sub(r"\w+", lambda word: arguments.get(word[0], word[0]), type_)
        if launched != type_:
            with contextlib.suppress(Unreadable):
                size = type_size(reader, type_, file=root_of(body.function.body))
                sizes |= {f"sizeof({''.join(launched.split())})": size.nbytes} if size is not None else {}
    return sizes


def unsized_arrays(body: Body) -> list[str]:
    """Return the ``extern __shared__`` arrays that a body uses, in the order of their declarations."""
    return [name for name in _UNSIZED.findall(text_of(root_of(body.function.body))) if name in body.names]


def _casts(body: Body) -> Iterator[tuple[str, Node]]:
    """Yield the type and the pointer of each cast of a pointer into an array without a size."""
    unsized = {*unsized_arrays(body)}
    for node in walk(body.function.body):
        if (form := _FORMS.get(node.type)) is not None:
            target, value = node.named_children
            if (match := form.fullmatch(text_of(target))) and _arrays(body, value) & unsized:
                yield match[1], value


def _arrays(body: Body, value: Node, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names in an expression, and in the values of the variables there."""
    names = {*identifiers(value)} - seen
    values = [each for name in names for each in body.variables.values.get(name, ())]
    return names.union(*(_arrays(body, each, seen | names) for each in values))


def _added(body: Body, value: Node, seen: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yield what an expression adds to a pointer, in the values of its variables, too."""
    for node in walk(value):
        if node.type == "binary_expression" and text_of(node.children[1]) == "+":
            yield node.children[2]
        elif node.type == "identifier" and (name := text_of(node)) not in seen:
            for each in body.variables.values.get(name, ()):
                yield from _added(body, each, seen | {name})


def _sum(parts: list[ast.expr]) -> ast.expr:
    total, *others = parts
    for each in others:
        total = ast.BinOp(total, ast.Add(), each)
    return total


def may_use_dynamic_memory(source: Program, body: Body) -> bool:
    """Return whether a kernel, or a function that it may call, declares an ``extern __shared__`` array."""
    roots = (root_of(body.function.body), source.root, *(root for _, root in source.others))
    return any(_UNSIZED.search(_without_other_kernels(root, body.function.word)) for root in roots)


def _without_other_kernels(root: Node, name: str) -> str:
    """Return the text of a file without the kernels of other names."""
    text = root.text or b""
    for each in functions_of(root):
        head, _, _ = (each.text or b"").partition(b"{")
        if b"__global__" in head and function_name(each) != name:
            text = text.replace(each.text or b"", b"")
    return text.decode(errors="replace")
