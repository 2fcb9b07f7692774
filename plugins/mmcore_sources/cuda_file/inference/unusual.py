"""Unusual readings of a source, with the usual one and the evidence in the file for the unusual one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.kernel.arguments import Scalar, TensorMap
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.additions import how_to_store
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.host_calls import of_device
from mmcore_sources.cuda_file.inference.host_storage import loop_by_columns
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.wgmma_order import is_b_k_major

_FILLS = re.compile(r"memset|memcpy|fill|zero|init|rand", re.IGNORECASE)
_ADDS = re.compile(r"\bbeta\b|\bC\b[^;\n]{0,20}\+=|=\s*C\b[^;\n]{0,20}\+|\badd(?:s|ed)? to C\b", re.IGNORECASE)
_BY_COLUMNS = re.compile(r"col(?:umn)?s?[-_ ]?major|by columns|column[- ]wise|fortran|cublas|IDX2[CF]", re.IGNORECASE)
_TRANSPOSED = r"transpos\w*|(?<![a-z])(?:tn|nt)(?![a-z])|[\w\[\])]+\^(?-i:T)\b|\brow\.col\b"
# The names of a transposed matrix; "at" is a word of comments.
_TRANSPOSES = {
    "A": re.compile(rf"{_TRANSPOSED}|(?<![a-z])a_?tb(?![a-z])|(?-i:\bA_?T\b|\bAt\b(?=\s*[\[,)]))", re.IGNORECASE),
    "B": re.compile(rf"{_TRANSPOSED}|(?<![a-z])ab_?t(?![a-z])|\bB_?T\b|\bBt\b", re.IGNORECASE),
}
_COLUMN = re.compile(r"(?:\w*_)?(?:j|c|x|tx|cols?|columns?|\w*col(?:umn)?)", re.IGNORECASE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

BY_MAP = "its tensor map"
"""The evidence of a layout that the host encodes: tensor cores multiply by tiles of either one."""


@dataclass(frozen=True)
class Unusual:
    """A reading that few kernels mean.

    Attributes:
        reading, usual: the reading and the usual one, as "C = C + A·B" and "C = A·B".
        given: the options that ask for the usual reading.
        option: the option that asks for the unusual one.
        evidence: the words of the file that support the unusual one; empty if none do.
        lacks: a sentence on what the unusual one needs and the file lacks; empty if it lacks nothing.
        line: the line that has the unusual one; 0 if it is not known.
        advice: a clause on this line, and on what to write for the usual one; empty without a line.
    """

    reading: str
    usual: str
    given: Mapping[str, Any]
    option: str
    evidence: str
    lacks: str = ""
    line: int = 0
    advice: str = ""

    def __str__(self) -> str:
        why = f"because of {self.evidence}" if self.evidence else "although nothing in the file supports it"
        return f"{self.reading} instead of {self.usual}, {why}"


def unusual_readings(
    text: str,
    launch: HostLaunch | None,
    body: Body,
    roles: Roles,
    *,
    adds: bool,
    columns: str,
    named: bool,
    chosen: str,
) -> Iterator[Unusual]:
    """Yield the unusual readings: C is added to, the matrices are stored by columns, or A or B is the product.

    With ``named``, the user has named the product. ``chosen`` are the arguments of the launch that transpose A or B.
    """
    usual: dict[str, Any]
    comments = " ".join(_COMMENT.findall(text))
    parameters = body.function.parameters
    letters = {each.name.upper() for each in parameters if each.pointer}
    filled = _fill_of_c(launch, body, roles) if launch and adds else ""
    if not named and letters == {"A", "B", "C"} and (written := roles.pointers["C"]).upper() != "C":
        pairs = zip(parameters, roles.arguments, strict=True)
        words = [each.name.upper() if each.pointer else str(getattr(role, "value", role)) for each, role in pairs]
        yield Unusual(f"a product stored in {written}", "C = A·B", {"args": words}, "--args", filled)
        return
    expected = roles.arguments.count("C") > 1  # D = A·B + C
    if adds and not expected and not any(isinstance(each, Scalar) and each.value == "beta" for each in roles.arguments):
        match = _ADDS.search(comments)
        evidence = filled or (f'the comment "{match[0]}"' if match else "")
        if not evidence and body.adds_atomically:
            evidence = "its atomic additions"
        before = "before the launch" + (f" in {launch.place}" if launch else "")
        lacks = f"nothing zeroes C {before}" if launch and not filled else ""
        line, instead = how_to_store(body, roles.pointers["C"])
        advice = f"{instead}, or zero C {before}" if line else ""
        yield Unusual("C = C + A·B", "C = A·B", {"beta": 0.0}, "--beta 1", evidence, lacks, line, advice)
    by_map = any(isinstance(each, TensorMap) for each in roles.arguments)
    if columns in ("A", "B", "AB") or (columns and by_map):
        word = transposing_word("A" if columns == "A" else "B", text)
        evidence = BY_MAP if by_map else f'the word "{word}"' if word else ""
        evidence = evidence or chosen or (_first_side_of_b(launch, body, roles) if launch and columns == "B" else "")
        if not evidence and columns == "B" and is_b_k_major(_COMMENT.sub(" ", text)):
            evidence = "wgmma with K-major tiles of B"
        evidence = evidence or _loops_by_columns(launch, body, roles, columns)
        usual, which = {"column_major": ""}, " and ".join(columns)
        yield Unusual(
            f"{which} stored by columns", f"{which} stored by rows", usual, f"--column-major {columns}", evidence
        )
    elif columns:
        match = _BY_COLUMNS.search(text)
        evidence = f'the word "{match[0]}"' if match else _names_of_columns(body, roles)
        evidence = evidence or _loops_by_columns(launch, body, roles, "AB")
        usual = {"column_major": ""}
        yield Unusual("matrices stored by columns", "matrices stored by rows", usual, "--column-major ABC", evidence)


def transposing_word(matrix: str, text: str) -> str:
    """Return the first word of a source that says that a matrix is transposed or stored by columns; "" without one."""
    match = _TRANSPOSES[matrix].search(text) or _BY_COLUMNS.search(text)
    return match[0] if match else ""


def _first_side_of_b(launch: HostLaunch, body: Body, roles: Roles) -> str:
    """Return the host's words that give n as the first side of the tensor B; empty if there are none."""
    passed = dict(zip((each.name for each in body.function.parameters), launch.arguments, strict=False))
    sizes = [text_of(passed[name]) for name, role in roles.sizes.items() if role == "n" and name in passed]
    tensors = list(identifiers(passed[roles.pointers["B"]])) if roles.pointers["B"] in passed else []
    if not sizes or not tensors:
        return ""
    side = rf"\b{re.escape(sizes[0])}\s*=[^;,=]*?\b({re.escape(tensors[0])}\s*\.\s*size\(\s*0\s*\))\s*\)?\s*[;,]"
    match = re.search(side, text_of(launch.scope))
    return f"n = {match[1]} in the host code" if match else ""


def _loops_by_columns(launch: HostLaunch | None, body: Body, roles: Roles, columns: str) -> str:
    """Return the host's lines that store or read each matrix of some by columns; empty if one has none."""
    names = [each.name for each in body.function.parameters]
    passed = dict(zip(names, launch.arguments, strict=False)) if launch else {}
    pointers = {matrix: roles.pointers[matrix] for matrix in columns}
    if launch is None or not {*pointers.values()} <= passed.keys():
        return ""
    found = [loop_by_columns(launch, passed[pointer], matrix) for matrix, pointer in pointers.items()]
    return " and ".join(found) if all(found) else ""


def _fill_of_c(launch: HostLaunch, body: Body, roles: Roles) -> str:
    """Return the host's line that fills C, in words; empty if there is none."""
    position = [each.name for each in body.function.parameters].index(roles.pointers["C"])
    if position >= len(launch.arguments):
        return ""
    names = {*identifiers(launch.arguments[position])}
    nodes = [each for each in walk(root_of(launch.scope)) if each.type in ("call_expression", "assignment_expression")]
    for node in nodes:
        names |= _passed_as(node, launch.scope, names) if node.type == "call_expression" else set()
    filling = (node for node in nodes if names & _filled(node) and not of_device(node))
    places = (replace(launch, line=node.start_point.row + 1).place for node in filling)
    return next((f"{place}, which fills {roles.pointers['C']}" for place in places), "")


def _filled(node: Node) -> set[str]:
    """Return the names of the arrays that a call or an assignment may fill."""
    if node.type == "assignment_expression":
        return set() if node.children[0].type == "identifier" else {*identifiers(node.children[0])}
    name, arguments = text_of(node.children[0]), node.child_by_field_name("arguments")
    if arguments is None or not _FILLS.search(name):
        return set()
    return {*identifiers(arguments.named_children[0] if "memcpy" in name.lower() else arguments)}


def _passed_as(call: Node, scope: Node, names: set[str]) -> set[str]:
    """Return the names of C in a call of the function that launches the kernel."""
    declarator, arguments = scope.child_by_field_name("declarator"), call.child_by_field_name("arguments")
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    if declarator is None or parameters is None or arguments is None:
        return set()
    if text_of(call.children[0]) != text_of(declarator).partition("(")[0].strip("*& "):
        return set()
    pairs = zip(parameters.named_children, arguments.named_children, strict=False)
    passed = (identifiers(argument) for parameter, argument in pairs if names & {*identifiers(parameter)})
    return set[str]().union(*passed)


def _names_of_columns(body: Body, roles: Roles) -> str:
    """Return the names that say that matrices are stored by columns, in words; empty if none do."""
    lengths = [name for name, role in roles.sizes.items() if role.startswith("ld")]
    named = [name for name, role in roles.sizes.items() if name.casefold() == role]
    if lengths or (len(roles.sizes) > 1 and len(named) == len(roles.sizes)):
        return f"the names {', '.join(lengths or named)}"
    for factor in body.factors_of_stores(roles.pointers["C"], set(roles.sizes)):
        if _COLUMN.fullmatch(factor):
            return f"the name {factor}"
    return ""
