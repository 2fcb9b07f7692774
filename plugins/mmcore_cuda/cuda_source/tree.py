"""The syntax tree of a CUDA source, by tree-sitter's grammar of CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from mmcore_cuda.cuda_source.conditionals import readable
from mmcore_cuda.cuda_source.tokens import blank

__all__ = [
    "LOOPS",
    "Node",
    "children_without_comments",
    "identifiers",
    "initializers",
    "instance_of",
    "is_stored_to",
    "outside_functions",
    "parse",
    "pointed",
    "root_of",
    "text_of",
    "walk",
    "within_parentheses",
    "without_parentheses",
]

_POINTS = re.compile(r"^(?:[*&\s]|(?:const|volatile|restrict|__restrict__|__restrict)\b)+")  # before a pointer's name
LOOPS = ("for_statement", "while_statement", "do_statement")
"""The types of nodes that are loops."""
# Attributes that the grammar does not know everywhere, with their arguments, which have parentheses up to three deep.
_ATTRIBUTE = re.compile(
    rb"\b__(?:attribute|cluster_dims|block_size|maxnreg)__\s*\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)"
)

_ALIGN = re.compile(rb"\b__align__\b")
_ALIGNED = re.compile(
    rb"(?P<brace>\}\s*)?(?P<opens>\b__attribute__[ \t]*\([ \t]*\([ \t]*(?:__)?aligned(?:__)?)"
    rb"(?P<bytes>[ \t]*\((?:[^()]|\([^()]*+\))*+\))(?P<closes>[ \t]*\)[ \t]*\))(?=\s*(?P<ends>[;,=])?)"
)


def parse(content: bytes) -> Node:
    """Return the root of a source's syntax tree; text that is not C++ becomes nodes of type ERROR.

    All spellings of an alignment become ``alignas(16)``, or ``[[aligned(16)]]`` after a declared name.
    """
    standard = _ALIGNED.sub(_standard_alignment, _ALIGN.sub(b"alignas  ", readable(content)))
    known = _ATTRIBUTE.sub(lambda attribute: blank(attribute[0]), standard)
    return Parser(Language(tree_sitter_cuda.language())).parse(known).root_node


def _standard_alignment(attribute: re.Match[bytes]) -> bytes:
    """Return an attribute ``aligned`` in a spelling that the grammar knows there, in as many bytes."""
    after_name = attribute["ends"] and not attribute["brace"]
    word, closes = (b"[[aligned", b"]]") if after_name else (b"alignas", b"")
    opens = word.rjust(len(attribute["opens"]))
    return (attribute["brace"] or b"") + opens + attribute["bytes"] + closes.ljust(len(attribute["closes"]))


def whole_text(root: Node) -> bytes:
    """Return the text of a tree, with as many bytes and lines before its first token as the source has."""
    lines = root.start_point.row
    return b"\n" * lines + b" " * (root.start_byte - lines) + (root.text or b"")


def text_of(node: Node) -> str:
    """Return the text of a node in one line."""
    return " ".join((node.text or b"").decode(errors="replace").split())


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and its descendants in order, skipping code that ``#if 0`` disables."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        condition = each.child_by_field_name("condition") if each.type == "preproc_if" else None
        if condition is not None and text_of(condition) in ("0", "false"):
            alternative = each.child_by_field_name("alternative")
            waiting += [] if alternative is None else [alternative]
            continue
        yield each
        waiting += reversed(each.children)


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the nodes around a node, the innermost first."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def outside_functions(root: Node) -> Iterator[Node]:
    """Yield a file's nodes and the definitions of its functions in order, without what these contain."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [] if node.type == "function_definition" else reversed(node.children)


def root_of(node: Node) -> Node:
    """Return the root of the tree that contains a node: its file."""
    while node.parent is not None:
        node = node.parent
    return node


def pointed(node: Node) -> Node:
    """Return the variable of ``&x`` or ``(void *)&x``, and another expression without casts and parentheses."""
    while node.type in ("cast_expression", "pointer_expression", "parenthesized_expression") and node.named_children:
        node = node.named_children[-1]
    return node


def without_parentheses(node: Node) -> Node:
    """Return the expression in parentheses; another one itself."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node


def within_parentheses(node: Node) -> Node | None:
    """Return the node around an expression and its parentheses."""
    above = node.parent
    while above is not None and above.type == "parenthesized_expression":
        above = above.parent
    return above


def is_stored_to(node: Node) -> bool:
    """Return whether a node is the left side of an assignment."""
    above = node.parent
    return above is not None and above.type == "assignment_expression" and above.children[0] == node


def identifiers(node: Node) -> list[str]:
    """Return the identifiers of variables and functions below a node, in order."""
    return [text_of(each) for each in walk(node) if each.type == "identifier"]


def instance_of(named: Node) -> tuple[str, tuple[str, ...]]:
    """Return the name of a function, with its namespaces, and the arguments of its template: ``lib::product<64>``."""
    inner = named
    while inner.type == "qualified_identifier" and (name := inner.child_by_field_name("name")) is not None:
        inner = name
    if (listed := inner.child_by_field_name("arguments")) is None:
        return text_of(named), ()
    return text_of(named).removesuffix(text_of(listed)).strip(), tuple(map(text_of, children_without_comments(listed)))


def initializers(declaration: Node) -> Iterator[tuple[str, Node]]:
    """Yield the name and the initial value of each variable that a declaration initialises."""
    for child in declaration.named_children:
        if child.type == "init_declarator":
            name, value = child.child_by_field_name("declarator"), child.child_by_field_name("value")
            if name is not None and value is not None:
                yield _POINTS.sub("", text_of(name), count=1), value


def sides(node: Node) -> tuple[Node, Node, Node]:
    """Return the left side, the operator and the right side of an assignment or a binary expression.

    In a text with a syntax error it may have more children.
    """
    left, operator, right = (node.child_by_field_name(each) for each in ("left", "operator", "right"))
    assert left is not None
    assert operator is not None
    assert right is not None
    return left, operator, right


def children_without_comments(node: Node) -> list[Node]:
    """Return the named children of a node except comments."""
    return [each for each in node.named_children if each.type != "comment"]
