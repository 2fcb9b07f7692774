"""The calls between a file's host functions: the values that they pass and return."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, ancestors, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.constructions import arguments_of_construction, constructed_class

_CALLS = ("call_expression", "template_instantiation")
_LAMBDA = "lambda_expression"
_METHOD = re.compile(r"^.*(?:\.|->)", re.DOTALL)  # the object before a method's name


@dataclass(frozen=True)
class Passed:
    """An expression of C, the function that contains it, if any, and its line."""

    value: Node
    scope: Node | None
    line: int


def passed(scope: Node, name: str, call: Node | None = None) -> Passed | None:
    """Return the value of a parameter of a host function or of its template: that of a call, or of the first one.

    Without an argument it is the default. None if it is no parameter, or if the file has no value for it.
    """
    calls = calls_of(scope) if call is None else (call,)
    several = ((_parameters(scope), map(arguments_of, calls)), (_template(scope), map(_listed, calls)))
    for parameters, lists in several:
        for position, parameter in enumerate(parameters):
            if _name(parameter) == name:
                given = next((each for each in lists if position < len(each)), None)
                value = parameter.child_by_field_name("default_value") if given is None else given[position]
                return None if value is None else _passed(value)
    return None


def parameter_names(scope: Node) -> list[str]:
    """Return the names of a host function's parameters."""
    return list(map(_name, _parameters(scope)))


def template_names(definition: Node) -> list[str]:
    """Return the names of the parameters of a function's or structure's template."""
    return list(map(_name, _template(definition)))


def returned(call: Node, scope: Node) -> Iterator[Passed]:
    """Yield the values that the host functions and lambdas return which a call in a function may name.

    A function with several ``return`` statements has no value.
    """
    count, called = len(arguments_of(call)), call.child_by_field_name("function")
    if called is not None and called.type == _LAMBDA:
        named: tuple[Node, ...] = (called,)
    else:
        name = _METHOD.sub("", function_name(call))
        named = tuple(each for each in _callable(root_of(scope)) if name and function_name(each) == name)
    for function in named:
        values = [each for each in walk(function) if each.type == "return_statement" and each.named_children]
        required = [each for each in _parameters(function) if each.child_by_field_name("default_value") is None]
        if len(values) == 1 and len(required) <= count <= len(_parameters(function)):
            value = values[0].named_children[0]
            yield Passed(value, function, value.start_point.row + 1)


def captured(scope: Node, name: str) -> bool:
    """Return whether a name in a lambda has its meaning in the function that contains it."""
    return scope.type == _LAMBDA and name not in parameter_names(scope)


def called_function(call: Node, others: Iterable[Node] = ()) -> Node | None:
    """Return the definition of the host function that a call names, in its file or in other ones; None without one."""
    name = function_name(call)
    functions = (each for root in (root_of(call), *others) for each in functions_of(root))
    return next((each for each in functions if name and function_name(each) == name), None)


@functools.lru_cache(maxsize=8)
def functions_of(root: Node) -> tuple[Node, ...]:
    """Return the definitions of functions in a file."""
    return tuple(each for each in walk(root) if each.type == "function_definition")


@functools.lru_cache(maxsize=8)
def _callable(root: Node) -> tuple[Node, ...]:
    """Return the definitions of functions in a file, and its lambdas."""
    return (*functions_of(root), *(each for each in walk(root) if each.type == _LAMBDA))


@functools.lru_cache(maxsize=64)
def calls_of(scope: Node) -> tuple[Node, ...]:
    """Return the calls and the explicit instantiations of a host function in its file, or objects it constructs."""
    return calls_in(root_of(scope), function_name(scope))


def calls_in(root: Node, name: str) -> tuple[Node, ...]:
    """Return the calls and the explicit instantiations of a function in a file, or objects that it constructs."""
    return tuple(each for each in walk(root) if name and name in (_called_name(each), constructed_class(each)))


def _called_name(node: Node) -> str:
    return function_name(node) if node.type in _CALLS else ""


def enclosing_function(node: Node) -> Node | None:
    """Return the definition of the function that contains a node; None outside of functions."""
    return next((each for each in ancestors(node) if each.type == "function_definition"), None)


def of_device(node: Node) -> bool:
    """Return whether a node is of a function that the device executes."""
    function = node if node.type == "function_definition" else enclosing_function(node)
    return function is not None and any(each.type in ("__global__", "__device__") for each in function.children)


def _passed(value: Node) -> Passed:
    return Passed(value, enclosing_function(value), value.start_point.row + 1)


def _named(node: Node) -> Node | None:
    """Return the name, with its template's arguments, that a function, call, instantiation or lambda has."""
    if node.type == _LAMBDA:
        variable = node.parent if node.parent is not None and node.parent.type == "init_declarator" else None
        return None if variable is None else variable.child_by_field_name("declarator")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type.endswith(("pointer_declarator", "reference_declarator")):
        declarator = declarator.child_by_field_name("declarator")
    inner = None if declarator is None else declarator.child_by_field_name("declarator")
    return node.child_by_field_name("function") if node.type == "call_expression" else inner


def function_name(node: Node) -> str:
    """Return the name of the function that is defined, called or instantiated, without namespaces and template."""
    named = _named(node)
    return "" if named is None else text_of(named).partition("<")[0].rpartition("::")[2].strip()


def _items(node: Node | None) -> list[Node]:
    return [] if node is None else [each for each in node.named_children if each.type != "comment"]


def _parameters(scope: Node) -> list[Node]:
    kind = "lambda_declarator" if scope.type == _LAMBDA else "function_declarator"
    declarator = next((each for each in walk(scope) if each.type == kind), None)
    return [] if declarator is None else _items(declarator.child_by_field_name("parameters"))


def _template(scope: Node) -> list[Node]:
    above = scope.parent
    is_template = above is not None and above.type == "template_declaration"
    return _items(above.child_by_field_name("parameters")) if above is not None and is_template else []


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call or construction; none of an explicit instantiation."""
    is_call = call.type == "call_expression"
    return _items(call.child_by_field_name("arguments") if is_call else arguments_of_construction(call))


def _listed(call: Node) -> list[Node]:
    named = _named(call)
    while named is not None and named.type == "qualified_identifier":
        named = named.child_by_field_name("name")
    return [] if named is None else _items(named.child_by_field_name("arguments"))


def _name(parameter: Node) -> str:
    """Return the name of a parameter of a function or template; empty without one."""
    declarator: Iterator[Node] = (each for each in walk(parameter) if each.type == "identifier")
    if parameter.type.endswith("type_parameter_declaration"):
        return next((text_of(each) for each in walk(parameter) if each.type == "type_identifier"), "")
    return text_of(next(declarator, parameter))
