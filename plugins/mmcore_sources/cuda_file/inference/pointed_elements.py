"""The types of the elements that pointers of host code point to."""

from __future__ import annotations

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.deduced_types import declared_types
from mmcore_sources.cuda_file.inference.host_calls import passed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.roles import ELEMENTS

_MOST_CALLS = 8
_NAMES_OF_TYPES = ("type_identifier", "primitive_type", "sized_type_specifier")
_OF_BITS = ("uint8", "int32")  # also pointers to raw bytes, or to words that contain several elements
_BYTE = "char"  # likewise


def element_pointed_to(reader: Reader, pointer: Node, calls: int = 0) -> str:
    """Return the type of the elements that a pointer in a host function points to; empty if it is not known.

    It is that of a cast or a declaration; of ``void *`` and of a template, that of the argument which a call passes.
    """
    if reader.scope is None or calls > _MOST_CALLS:
        return ""
    written = [text_of(each) for each in walk(pointer) if each.type in _NAMES_OF_TYPES]
    for text in (*written, *declared_types(pointer, reader.scope)):
        if element := _element(reader, text):
            return element
    for name in identifiers(pointer):
        if (argument := passed(reader.scope, name, reader.call)) is not None:
            return element_pointed_to(reader.caller(argument), argument.value, calls + 1)
    return ""


def _element(reader: Reader, text: str) -> str:
    """Return the element type that a type's text names, such as ``std::vector<half>``; empty without one."""
    words = text.replace("const ", "").rpartition("<")[2].strip("*> ")
    of_template = passed(reader.scope, words, reader.call) if reader.scope is not None else None
    word = words if of_template is None else text_of(of_template.value)
    word = reader.source.types.get(word, word)
    return word if word != _BYTE and ELEMENTS.get(word, _OF_BITS[0]) not in _OF_BITS else ""
