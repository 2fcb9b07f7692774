"""Changes of the components of vectors, such as ``b.w`` for ``b.z``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, sides, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_COMPONENTS = "xyzw"
_BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def component_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which an operand has the component that the sum or the element on the left has."""
    for node in (each for each in nodes if each.type == "assignment_expression"):
        left, _, right = sides(node)
        targets = [each for each in walk(left) if _is_component(each)]
        for target in targets[:1]:
            vector, component = text_of(target.children[0]), text_of(target.children[-1])
            for each in filter(_is_component, walk(right)):
                operand, other = text_of(each.children[0]), text_of(each.children[-1])
                if other != component:
                    yield replaced(source, [(each, f"{operand}.{component}")])
                    yield replaced(source, [(target, f"{vector}.{other}")])


def _is_component(node: Node) -> bool:
    """Return whether a node is one of up to four components of a vector."""
    if node.type != "field_expression" or text_of(node.children[0]) in _BUILT_IN:
        return False
    return text_of(node.children[1]) == "." and text_of(node.children[-1]) in {*_COMPONENTS}
