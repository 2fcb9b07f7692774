"""The bodies of kernels that only call a device function of their file, as ``tile<8>(a, b, c)``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, parse, root_of, text_of, walk

_WORD = re.compile(r"(?<![.\w])(?<!->)(?<!::)[A-Za-z_]\w*\b")
_PLAIN = re.compile(r"[\w:.]+")
_NAMES = ("identifier", "type_identifier")


def wrapped_body(body: Node) -> Node:
    """Return the bodies of the device functions that a kernel only calls, with the calls' arguments; others unchanged.

    Calls in two branches are bodies in branches. Lines keep the numbers that they have in the device functions.
    """
    calls = _only_calls(body)
    inlined = [(condition, each) for condition, call in calls if (each := _inlined(body, call)) is not None]
    if not inlined or len(inlined) < len(calls):
        return body
    text, several = "void f() ", len(inlined) > 1
    for condition, (row, block) in sorted(inlined, key=lambda each: each[1]):
        if text.count("\n") > row:
            return body  # of one function twice
        text += "\n" * (row - text.count("\n")) + "{" * (several and "{" not in text) + condition + block
    read = parse(f"{text}{'}' * several}".encode())
    return next((each for each in walk(read) if each.type == "compound_statement"), body)


def _inlined(body: Node, call: Node) -> tuple[int, str] | None:
    """Return the row and the text of the body of the device function that a call names, with the call's arguments."""
    function = _called(call)
    inner = None if function is None else function.child_by_field_name("body")
    if function is None or inner is None:
        return None
    values = {**_template_values(call, function), **_argument_values(call, function)}
    declared = {name: f"({text_of(value)})" for each in body.named_children for name, value in initializers(each)}
    values = {name: _WORD.sub(lambda word: declared.get(word[0], word[0]), value) for name, value in values.items()}
    passed = {word for value in values.values() for word in _WORD.findall(value)}
    if passed & {*_locals(inner)} - values.keys():
        return None  # a local variable of the function would hide an argument
    # An offset of a pointer, such as that of a product of a batch, is one of the body's own variables.
    moved = {f"{name}_": value for name, value in values.items() if "+" in value and name in _pointers(function)}
    values |= {name.removesuffix("_"): name for name in moved}
    text = _WORD.sub(lambda word: values.get(word[0], word[0]), (inner.text or b"").decode())
    text = "{" + "".join(f" const float *{name} = {value};" for name, value in moved.items()) + text.removeprefix("{")
    return inner.start_point.row, text


def _only_calls(body: Node) -> list[tuple[str, Node]]:
    """Return the call that is the only statement of a body beside declarations, or those of an if statement's branches.

    Each has the text of its condition before it; none if there are other statements.
    """
    *before, last = [each for each in body.named_children if each.type != "comment"] or [body]
    if any(each.type != "declaration" for each in before):
        return []
    if last.type != "if_statement":
        return [("", call) for call in [_call(last)] if call is not None]
    condition, then, clause = (last.child_by_field_name(name) for name in ("condition", "consequence", "alternative"))
    otherwise = clause.named_children[-1] if clause is not None and clause.named_children else None
    calls = [_call(each) for each in (then, otherwise) if each is not None]
    if condition is None or len(calls) < 2 or None in calls:
        return []
    holds = text_of(condition)
    pairs = zip((f"if {holds} ", f"if (!{holds}) "), calls, strict=True)
    return [(text, call) for text, call in pairs if call is not None]


def _call(statement: Node) -> Node | None:
    """Return the call that a statement is, also within braces."""
    while statement.type == "compound_statement" and len(statement.named_children) == 1:
        statement = statement.named_children[0]
    call = (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )
    return call if call is not None and call.type == "call_expression" else None


def _called(call: Node) -> Node | None:
    """Return the definition of the device function that a call names; None unless its file has one alone."""
    named = call.child_by_field_name("function")
    name = "" if named is None else text_of(named).partition("<")[0].strip()
    functions = [each for each in walk(root_of(call)) if each.type == "function_definition" and _name(each) == name]
    device = [each for each in functions if any(child.type == "__device__" for child in each.children)]
    return device[0] if len(device) == len(functions) == 1 else None


def _name(function: Node) -> str:
    declarator = function.child_by_field_name("declarator")
    named = None if declarator is None else declarator.child_by_field_name("declarator")
    return "" if named is None else text_of(named)


def _argument_values(call: Node, function: Node) -> dict[str, str]:
    declarator = function.child_by_field_name("declarator")
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    return dict(zip(map(_last_name, _items(parameters)), _texts(call.child_by_field_name("arguments")), strict=False))


def _pointers(function: Node) -> list[str]:
    """Return the parameters of a function that are pointers."""
    declarator = function.child_by_field_name("declarator")
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    return [_last_name(each) for each in _items(parameters) if "*" in text_of(each)]


def _template_values(call: Node, function: Node) -> dict[str, str]:
    """Return the values of the function's template parameters that the call gives, or that are their defaults."""
    above, named = function.parent, call.child_by_field_name("function")
    if above is None or above.type != "template_declaration" or named is None:
        return {}
    parameters = _items(above.child_by_field_name("parameters"))
    given = _texts(named.child_by_field_name("arguments"))
    defaults = [each.child_by_field_name("default_value") for each in parameters[len(given) :]]
    values = given + ["" if each is None else text_of(each) for each in defaults]
    return {_last_name(each): value for each, value in zip(parameters, values, strict=False) if value}


def _items(listed: Node | None) -> list[Node]:
    return [] if listed is None else [each for each in listed.named_children if each.type != "comment"]


def _texts(listed: Node | None) -> list[str]:
    named = [(each.type == "type_descriptor", text_of(each)) for each in _items(listed)]
    return [text if is_type or _PLAIN.fullmatch(text) else f"({text})" for is_type, text in named]


def _last_name(parameter: Node) -> str:
    """Return the name of a parameter, which follows its type."""
    default = parameter.child_by_field_name("default_value")
    end = parameter.end_byte if default is None else default.start_byte
    names = [each for each in walk(parameter) if each.type in _NAMES and each.start_byte < end]
    declarator = parameter.child_by_field_name("declarator")
    if declarator is not None:
        names = [each for each in walk(declarator) if each.type == "identifier"][:1]
    return text_of(names[-1]) if names else ""


def _locals(body: Node) -> Iterator[str]:
    """Yield the variables that a body declares."""
    for node in (each for each in walk(body) if each.type == "declaration"):
        yield from (name.partition("[")[0] for name, _ in initializers(node))
        for declarator in node.children_by_field_name("declarator"):
            yield from identifiers(declarator)[:1]
