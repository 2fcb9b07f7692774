"""Changes of how many threads or blocks a kernel counts, where its launch has another number of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore.kernel.geometry import Dim3
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import Node, parse, text_of, walk
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_COUNT = re.compile(r"(?:n|num|number)?_?(?:of_?)?(?:block_?)?threads(?:_?(?:per|in)_?(?:block|cta))?", re.IGNORECASE)
_BLOCK = re.compile(r"\bblockIdx\.([xyz])(?: \* (blockDim\.\1))?")
_DEFINITIONS = ("init_declarator", "preproc_def")


def thread_edits(text: str, nodes: list[Node], block: Dim3) -> Iterator[Edit]:
    """Yield sources in which a constant, or the step of a loop, is the block's threads or the grid's blocks.

    The steps are those of loops that begin at a thread's or a block's place.
    """
    source, program, threads = text.encode(), read_program(text), str(block.size)
    used = {text_of(each) for each in nodes if each.type == "identifier"}
    for node in (each for each in walk(parse(source)) if each.type in _DEFINITIONS):
        name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        name = name or node.child_by_field_name("name")
        if name is None or value is None or text_of(name) not in used or not _COUNT.fullmatch(text_of(name)):
            continue
        if "Dim" not in text_of(value) and value_of(text_of(value), program, None) != block.size:
            yield replaced(source, [(value, threads)], f"{text_of(name)} = {threads}")
    for loop in (each for each in nodes if each.type == "for_statement"):
        begin, update = (loop.child_by_field_name(each) for each in ("initializer", "update"))
        if begin is None or update is None or update.type != "assignment_expression":
            continue
        sign, step = text_of(update.children[1]), update.children[2]
        index = _BLOCK.search(text_of(begin))
        count = threads if index is None else " * ".join(filter(None, [f"gridDim.{index[1]}", index[2]]))
        if sign == "+=" and not re.search(r"= *\d+ *;?$", text_of(begin)) and text_of(step) != count:
            yield replaced(source, [(step, count)])
