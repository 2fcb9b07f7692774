"""The variables of a source in the memory of the device, and the functions that read and set them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, children_without_comments, outside_functions, root_of, text_of, walk
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of

_SELECTS = ("subscript_expression", "field_expression", "parenthesized_expression", "qualified_identifier")
_DERIVES = ("binary_expression", "cast_expression", "parenthesized_expression", "conditional_expression")
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")


class DeviceVariable(NamedTuple):
    """A variable that is declared outside functions; ``depth`` is its number of stars and lengths."""

    name: str
    depth: int
    managed: bool


class Use(NamedTuple):
    """A place in a function that names a variable; a place that sets it through a pointer or reference only may."""

    name: str
    node: Node
    reads: bool
    sets: bool
    certain: bool = True


def device_variables(root: Node) -> dict[str, DeviceVariable]:
    """Return the variables of a file that are ``__device__`` or ``__managed__``, by name; constants are none."""
    found = dict[str, DeviceVariable]()
    for node in (each for each in outside_functions(root) if each.type == "declaration"):
        words = {word for child in node.children for word in text_of(child).split()}
        if not words & {"__device__", "__managed__"} or "__constant__" in words:
            continue
        for declarator in node.children_by_field_name("declarator"):
            inner, depth = declarator, 0
            while (below := inner.child_by_field_name("declarator")) and inner.type != "function_declarator":
                depth += inner.type in ("array_declarator", "pointer_declarator")
                inner = below
            if inner.type == "identifier":
                name = text_of(inner)
                found[name] = DeviceVariable(name, depth, "__managed__" in words)
    return found


def reached(root: Node, name: str) -> list[Node]:
    """Return the definitions of a function, and of the file's functions that it names, directly or not."""
    found, waiting, known = list[Node](), [name], {name}
    while waiting:
        word = waiting.pop()
        for function in (each for each in functions_of(root) if function_name(each) == word):
            found.append(function)
            named = {text_of(each) for each in walk(function) if each.type in ("identifier", "field_identifier")}
            waiting += named - known
            known |= named
    return found


def uses(host: HostCode, function: Node, variables: dict[str, DeviceVariable]) -> Iterator[Use]:
    """Yield the places in a function that name variables of the file, and no variables of its own."""
    for node in walk(function):
        variable = variables.get(text_of(node)) if node.type == "identifier" else None
        if variable is not None and not host.declares(variable.name, function):
            yield _use(node, variable)


def _use(node: Node, variable: DeviceVariable) -> Use:
    """Return what an expression around a variable's name does with the variable."""
    place, depth = _selected(node, variable.depth)
    above = place.parent
    name = variable.name
    if above is None:
        return Use(name, node, reads=True, sets=False)
    if above.type == "assignment_expression" and above.children[0] == place:
        return Use(name, node, reads=text_of(above.children[1]) != "=" and _is_used(above), sets=True)
    if above.type == "update_expression":
        return Use(name, node, reads=_is_used(above), sets=True)
    if above.type == "call_expression" and above.children[0] == place:  # a method of the variable
        return Use(name, node, reads=True, sets=True, certain=False)
    is_address = above.type == "pointer_expression" and text_of(above.children[0]) == "&"
    pointer, is_const = _pointer(above if is_address else place)
    call = _call_with(pointer)
    if (is_address or depth > 0) and call is not None and function_name(call).startswith("atomic"):
        return Use(name, node, reads=_is_used(call), sets=True)
    through_pointer = (is_address or depth > 0) and not is_const
    return Use(name, node, reads=True, sets=through_pointer or _is_referenced(place), certain=False)


def _selected(node: Node, depth: int) -> tuple[Node, int]:
    """Return the element or member that an expression selects from a variable, and the depth of the pointer it is."""
    while (above := node.parent) is not None:
        is_star = above.type == "pointer_expression" and text_of(above.children[0]) == "*"
        is_first = above.named_children[0] == node or above.type == "qualified_identifier"
        if not is_star and not (above.type in _SELECTS and is_first):
            break
        is_arrow = above.type == "field_expression" and text_of(above.children[1]) == "->"
        depth -= is_star or is_arrow or above.type == "subscript_expression"
        node = above
    return node, depth


def _is_used(expression: Node) -> bool:
    """Return whether the value of an expression is used."""
    return expression.parent is not None and expression.parent.type not in ("expression_statement", "comma_expression")


def _pointer(node: Node) -> tuple[Node, bool]:
    """Return the outermost pointer that is computed from an address, and whether its elements are constant."""
    is_const = False
    while (above := node.parent) is not None:
        call = _call_with(node)
        if call is not None and function_name(call).startswith(_CASTS):
            is_const, node = "const " in text_of(call.children[0]), call
        elif above.type in _DERIVES:
            is_const |= above.type == "cast_expression" and "const " in text_of(above.children[1])
            node = above
        else:
            break
    declared = node.parent.parent if node.parent is not None and node.parent.type == "init_declarator" else None
    return node, is_const or (declared is not None and text_of(declared).startswith("const "))


def _is_referenced(place: Node) -> bool:
    """Return whether a place becomes a reference: of a variable, or of a function of the file that is called."""
    above = place.parent
    if above is not None and above.type == "init_declarator" and above.parent is not None:
        is_reference = above.children[0].type == "reference_declarator"
        return is_reference and not text_of(above.parent).startswith("const ")
    call = _call_with(place)
    if call is None:
        return False
    position = children_without_comments(call.children[1]).index(place)
    functions = (each for each in functions_of(root_of(call)) if function_name(each) == function_name(call))
    parameters = (_parameters(each)[position:] for each in functions)
    return any("&" in each[0] and not each[0].startswith("const ") for each in parameters if each)


def _parameters(function: Node) -> list[str]:
    """Return the parameters of a function's definition as they are written."""
    listed = next((each for each in walk(function) if each.type == "parameter_list"), None)
    return [] if listed is None else [text_of(each) for each in children_without_comments(listed)]


def _call_with(argument: Node) -> Node | None:
    """Return the call of which an expression is an argument."""
    above = argument.parent
    call = above.parent if above is not None and above.type == "argument_list" else None
    return call if call is not None and call.type == "call_expression" else None
