"""The matrices with tensor maps that are stored by columns, as host code encodes the maps and as the kernel copies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, built_in
from mmcore_sources.cuda_file.inference.encoded_maps import Encoded
from mmcore_sources.cuda_file.inference.host_calls import arguments_of
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.size_names import SIDES, usual_role
from mmcore_sources.cuda_file.inference.storage import strides_of

_COORDINATES = ("identifier", "binary_expression", "parenthesized_expression", "cast_expression")


def stored_columns(
    body: Body, launch: HostLaunch | None, roles: Roles, maps: Mapping[str, Encoded], *, tensor_cores: bool
) -> tuple[str, list[Note]]:
    """Return the matrices that are stored by columns, as their maps, the copies or the stores of C show, and notes.

    Where a map and the copies contradict each other, one of them is wrong. The storage is then the usual one: that of
    the boxes, or B by columns for ``tensor_cores`` alone.
    """
    hosts = _host_roles(body, launch, roles)
    why: dict[str, tuple[str, bool]] = {}
    lengths = {roles.sizes.get(name, "") for name in strides_of(body, roles.pointers["C"], set(roles.sizes))}
    if lengths == {"m"}:
        why["C"] = ("as the source steps over C", False)
    found = {matrix: maps[name] for matrix, name in roles.pointers.items() if name in maps}
    for matrix, each in found.items():
        of_map, of_copies = _by_map(matrix, each, hosts), _by_copies(matrix, each, body, roles)
        known = {of_map, of_copies} - {None}
        usual = matrix == "B" and _by_boxes(found, otherwise=tensor_cores or not known)
        if not (known.pop() if len(known) == 1 else usual):
            continue
        if of_map:
            why[matrix] = (f"its rows are {', '.join(sorted(each.rows))} in {each.place}", False)
        else:
            why[matrix] = (
                ("as the copies step along k", False) if of_copies else ("as most boxes for tensor cores", True)
            )
    notes = [
        Note(f"storage of {each}", "by columns", f"{reason}; '' is by rows", "--column-major", guessed)
        for each, (reason, guessed) in why.items()
    ]
    return "".join(sorted(why)), notes


def _host_roles(body: Body, launch: HostLaunch | None, roles: Roles) -> dict[str, str]:
    """Return the roles of the sizes that a launch passes, by their text; "" if one text is two sizes."""
    hosts: dict[str, str] = {}
    for parameter, node in zip(body.function.parameters, launch.arguments if launch else (), strict=False):
        if role := roles.sizes.get(parameter.name):
            hosts[text_of(node)] = "" if hosts.get(text_of(node), role) != role else role
    return hosts


def _by_map(matrix: str, encoded: Encoded, hosts: Mapping[str, str]) -> bool | None:
    """Return whether a map's rows and the step between them are those of columns; None if unknown or contradictory."""
    rows, length = (
        {hosts.get(name, usual_role(name)) for name in names} & {"m", "n", "k"}
        for names in (encoded.rows, encoded.lengths)
    )
    found = {rows != {SIDES[matrix][0]}} if len(rows) == 1 else set[bool]()
    if len(length) == 1 and length <= {*SIDES[matrix]}:
        found.add(length == {SIDES[matrix][0]})
    return found.pop() if len(found) == 1 else None


def _by_boxes(found: Mapping[str, Encoded], *, otherwise: bool) -> bool:
    """Return whether B is stored by columns, as its boxes have the depth of A's along one axis; else ``otherwise``."""
    rows, *_, columns = [length == found["A"].box[-1] for length in found["B"].box] if "A" in found else [True, True]
    return columns if rows != columns else otherwise


def _by_copies(matrix: str, encoded: Encoded, body: Body, roles: Roles) -> bool | None:
    """Return whether a kernel copies a matrix from columns: its first coordinate is along a column; None if unknown."""
    if matrix == "C" or len(encoded.box) != 2:
        return None
    orders = {order for each in _copies(body, roles.pointers[matrix]) for order in _orders(body, each)}
    return (matrix == "B") == orders.pop() if len(orders) == 1 else None


def _copies(body: Body, name: str) -> Iterator[Sequence[Node]]:
    """Yield the arguments of each call, and the operands of each asm statement, that names one map alone."""
    maps = {each.name for each in body.function.parameters if each.is_tensor_map}
    for node in walk(body.function.body):
        operands = arguments_of(node)
        if node.type == "gnu_asm_expression":
            operands = [each.named_children[-1] for each in walk(node) if each.type == "gnu_asm_input_operand"]
        if maps & {word for each in operands for word in identifiers(each)} == {name}:
            yield operands


def _orders(body: Body, operands: Sequence[Node]) -> Iterator[bool]:
    """Yield whether the step along k is the first of two coordinates, for each two operands that may be those."""
    for pair in itertools.pairwise(operands):
        first, second = (_is_place(body, each) for each in pair)
        if {first, second} == {True, False}:
            yield second is True


def _is_place(body: Body, operand: Node) -> bool | None:
    """Return whether an operand depends on a block's index; None if it does not and no loop steps it either."""
    if operand.type not in _COORDINATES:
        return None
    terms = body.terms(operand)
    if any(kind == "blockIdx" for term in terms for kind, _ in built_in(term)):
        return True
    return False if any(body.variables.changing & {*term} for term in terms) else None
