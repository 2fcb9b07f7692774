"""Leading dimensions that a launch passes, and that are not the lengths of the rows in its kernel."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore.kernel.arguments import Argument, Struct
from mmcore_cuda.cuda_source.program import HostLaunch, read_program
from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.host_calls import Passed, calls_of, passed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.size_names import SIDES

_NAMES = ("identifier", "field_expression")


def other_rows(host: HostCode, launch: HostLaunch, arguments: tuple[Argument, ...], column_major: str) -> Iterator[Bug]:
    """Find a leading dimension that is another size than the length of the rows, or is less than this length.

    Matrices in ``column_major`` are stored by columns, whose length counts instead. Arguments of the function that
    launches, and members of structures, are followed to where they are set. C is wrong where the program shows that the
    leading dimension differs from the length, or reads both from its user.
    """
    given = {
        role: _origin(host, Passed(node, launch.scope, launch.line)) for role, node in _passed(host, launch, arguments)
    }
    sizes = {text_of(given[side].value) for side in "mnk" if side in given}
    for matrix, sides in SIDES.items():
        by_columns = matrix in column_major
        length, leading = given.get(sides[0] if by_columns else sides[1]), given.get(f"ld{matrix.lower()}")
        if leading is None or length is None or text_of(leading.value) == text_of(length.value):
            continue
        least, has = (_number(host, each) for each in (length, leading))
        name, elements = text_of(leading.value), text_of(length.value)
        if is_wrong_leading(has, least, is_size=name in sizes):
            lines = "columns" if by_columns else "rows"
            known = least is not None and has is not None
            unless = "" if known else only_where(name, elements)
            words = f"as the leading dimension of {matrix}, whose {lines} have {elements} elements{unless}"
            wrong = known or (_is_read(host, leading) and _is_read(host, length))
            message = f"{launch.name} is passed {name} {words}"
            yield Bug("wrong-leading-dimension", launch.line, message, "C" if wrong else "")


def is_wrong_leading(leading: int | None, length: int | None, *, is_size: bool) -> bool:
    """Return whether a leading dimension is less than a length, or ``is_size``, another size, and not as large."""
    if leading is not None and length is not None and leading <= length:
        return leading < length
    return is_size


def only_where(leading: str, length: str) -> str:
    """Return the condition of a right product, as the end of a sentence."""
    return f", so that it is right only where {leading} = {length}"


def _passed(host: HostCode, launch: HostLaunch, arguments: tuple[Argument, ...]) -> Iterator[tuple[str, Node]]:
    """Yield the role and the expression of each argument, and of each member of a structure."""
    program, kernel = read_program(host.text), host.kernel(launch)
    for argument, node, parameter in zip(
        arguments, launch.arguments, kernel.parameters if kernel else (), strict=False
    ):
        if isinstance(argument, Struct):
            for role, member in zip(argument.members, program.members(parameter.type), strict=False):
                yield str(role), parse_expression(f"{text_of(node)}.{member.name}")
        else:
            yield str(argument), node


def _origin(host: HostCode, expression: Passed) -> Passed:
    """Return what a function's only call passes as a parameter, or the name that a variable or member is set to."""
    value, scope = expression.value, expression.scope
    if scope is None or value.type not in _NAMES:
        return expression
    several = [each for name, each in host.values(scope) if name == text_of(value)]
    if len(several) == 1 and several[0].type in _NAMES:
        return _origin(host, Passed(several[0], scope, expression.line))
    if value.type == "identifier" and not several and len(calls_of(scope)) == 1:
        return _origin(host, argument) if (argument := passed(scope, text_of(value))) is not None else expression
    return expression


def _number(host: HostCode, expression: Passed) -> int | None:
    """Return the value of an expression that the program sets; None if it is not known."""
    if expression.scope is None or _is_read(host, expression):
        return None
    return Reader(read_program(host.text), {}, expression.scope, expression.line).whole(expression.value)


def _is_read(host: HostCode, expression: Passed) -> bool:
    """Return whether the program reads an expression's value from its user."""
    return expression.scope is not None and host.is_read(expression.value, expression.scope)
