"""The kernel of a source that is chosen, with the values that decide how it is compiled."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.entities import without_overloads
from mmcore_cuda.cuda_source.expanded_macros import definitions
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.includes import has_quoted_includes
from mmcore_cuda.cuda_source.program import HostLaunch, Program, read_program
from mmcore_cuda.cuda_source.taken_branches import kernel_names, without_skipped_code
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.batches import batch_axis
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.calling_files import with_calling_files
from mmcore_sources.cuda_file.inference.choice import chosen_function, is_product
from mmcore_sources.cuda_file.inference.class_arguments import member_types
from mmcore_sources.cuda_file.inference.class_types import enumerators
from mmcore_sources.cuda_file.inference.encoded_maps import Encoded
from mmcore_sources.cuda_file.inference.fixed_branches import skipped_branches
from mmcore_sources.cuda_file.inference.flags import flags_of
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launches import launch_of_instance
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.parameters import Open, arguments_of_instance, launched_numbers, open_parameters
from mmcore_sources.cuda_file.inference.roles import scalar_type
from mmcore_sources.cuda_file.inference.tensor_maps import with_maps
from mmcore_sources.cuda_file.inference.tuned_macros import refuse_undefined
from mmcore_sources.cuda_file.inference.vectors import vectors_of


@dataclass(frozen=True)
class SourceKernel:
    """A kernel of a source, before its product is inferred.

    Attributes:
        file: the name of its file.
        text: the file's text, without other functions of the kernel's name, also in branches that are not taken.
        is_shortened: True if there were some.
        source: the program of the file, its headers, and the files that launch its kernels.
        declared: the kernel's function as the source declares it.
        body: the body of the function, whose types are known, and whose tensor maps are pointers.
        maps: the tensor maps by parameter.
        launch: its launch; None if the source has none.
        given: the user's values.
        chosen: the choices for what the source leaves open.
        notes: notes about the choice of the kernel.
    """

    file: str
    text: str
    is_shortened: bool
    source: Program
    declared: Function
    body: Body
    maps: Mapping[str, Encoded]
    launch: HostLaunch | None
    given: Mapping[str, Any]
    chosen: Open
    notes: tuple[Note, ...]

    @property
    def function(self) -> Function:
        """The function, as its body has it."""
        return self.body.function

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The user's parameters of the config, and macros that are numbers."""
        parameters: Mapping[str, Any] = self.given["parameters"]
        return parameters

    @property
    def defines(self) -> Mapping[str, Any]:
        """The user's macros that are no numbers."""
        defines: Mapping[str, Any] = self.given["defines"]
        return defines

    @property
    def known(self) -> dict[str, Any]:
        """The parameters and macros that the user gives."""
        return {**self.defines, **self.parameters}

    @property
    def values(self) -> dict[str, Any]:
        """The values of all parameters and macros."""
        return {**self.chosen.values, **self.known}

    @cached_property
    def launched(self) -> dict[str, int]:
        """The whole numbers that the launch passes, by parameter."""
        return launched_numbers(self.source, self.function, self.launch)

    @cached_property
    def constants(self) -> dict[str, int]:
        """The whole numbers among the source's macros and constants by name, with the values that the user gives."""
        reader, given = Reader(self.source), self.parameters
        numbers = {name: reader.whole(name) for name in (*self.source.macros, *self.source.constants)}
        return {
            name: number for name in numbers if (number := given.get(name, numbers[name])) and isinstance(number, int)
        }

    def original(self, name: str) -> str:
        """Return the constant that another one is defined as, WB for ``#define WC WB``; others are returned as is."""
        seen = set[str]()
        while name in self.constants and name not in seen and name not in self.parameters:
            seen.add(name)
            macro, value = self.source.macros.get(name), self.source.constants.get(name)
            text = macro.text if macro is not None else "" if value is None else text_of(value)
            name = word if (word := text.strip("() ")) in self.constants else name
        return name


def read_kernel(
    file: str,
    text: str,
    given: Mapping[str, Any],
    headers: Iterable[tuple[str, str]],
    launching: Iterable[tuple[str, str]],
    calling: Iterable[tuple[str, str]],
) -> SourceKernel:
    """Return the kernel that a file's text and the user choose. Arguments and errors are those of infer()."""
    parameters, defines = dict(given.get("parameters", {})), dict(given.get("defines", {}))
    kernels = kernel_names(text)
    text, headers = without_skipped_code(text, headers, {**parameters, **defines})
    of_headers = tuple(each for _, header in headers for each in definitions(header.encode()))
    source = read_program(text, of_headers)
    source = functools.reduce(lambda program, header: program.with_header(*header), headers, source)
    source = functools.reduce(lambda program, other: program.with_launches(*other), launching, source)
    source = with_calling_files(source, calling)
    entry = str(given.get("entry", ""))
    source = source.with_products_of_headers(is_product, entry.partition("<")[0].strip()).with_members()
    declared, launch, notes = chosen_function(file, source, entry)
    launch = launch_of_instance(source, declared, arguments_of_instance(entry), parameters) or launch
    function, maps, given = with_maps(source, declared, launch, given)
    _refuse_structures(source, function)
    own_text = without_overloads(text, function, source.functions)
    _refuse_vectors(function, given)
    _refuse_unused(file, own_text, parameters)
    # A macro that is a number becomes a parameter that block and grid may depend on.
    numbers = [name for name, value in defines.items() if name.isupper() and value.isdecimal()]
    parameters |= {name: int(defines.pop(name)) for name in numbers}
    known = {**defines, **parameters}
    chosen = open_parameters(source, function, launch, known, entry, given.get("dtype", "float32"))
    source = replace(source, types={**source.types, **chosen.classes})
    of_classes = member_types(source, function, chosen.classes)
    source = replace(source, types={**source.types, **of_classes})
    of_macros = {name: macro.text for name, macro in source.macros.items() if scalar_type(macro.text)}
    enumerations = {each.type: enumerators(Reader(source), each.type) for each in function.parameters}
    of_enumerations = {type_: "int" for type_, numbers in enumerations.items() if numbers}
    function = function.with_types({**chosen.types, **of_macros, **source.types, **of_enumerations})
    values = {name: number for numbers in enumerations.values() for name, number in numbers.items()}
    source = replace(source, constants={**_nodes(values), **source.constants})
    values |= {**chosen.values, **known}
    body = Body(function, (*skipped_branches(source, function, values),), frozenset(source.constants))
    body = replace(body, batch_axis=batch_axis(body))
    if flags := _flags(body, source, launch, given):
        body = replace(body, skipped=(*skipped_branches(source, function, {**values, **flags}),))
    refuse_undefined(file, source, body, launch, {**chosen.values, **known}, known)
    return SourceKernel(
        file=file,
        text=own_text,
        is_shortened=own_text != text or kernel_names(text) != kernels,
        source=source,
        declared=declared,
        body=body,
        maps=maps,
        launch=launch,
        given={**given, "parameters": parameters, "defines": defines},
        chosen=chosen,
        notes=notes,
    )


def _nodes(numbers: Mapping[str, int]) -> dict[str, Node]:
    """Return the numbers of enumerators as constants of a program."""
    return {name: parse_expression(str(number)) for name, number in numbers.items()}


def _flags(body: Body, source: Program, launch: HostLaunch | None, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers that the user or the launch passes for parameters that are only tested; 0 for others."""
    parameters = body.function.parameters
    whole = [each.name for each in parameters if not each.pointer and "int" in scalar_type(each.type)]
    words = zip(parameters, given.get("args", ()), strict=False)
    passed = {each.name: int(word) for each, word in words if word.strip().isdecimal()}
    passed = {**launched_numbers(source, body.function, launch), **passed}
    return {name: passed.get(name, 0) for name in flags_of(body, whole)}


def _refuse_structures(source: Program, function: Function) -> None:
    """Raise InvalidKernel for a pointer to structures of pointers or sizes, which would have to be on the device."""
    for each in function.parameters:
        members = source.structures.get(each.type.rstrip("*"), ()) if each.pointer else ()
        if any(member.pointer for member in members) or (members and f"{each.name}->" in text_of(function.body)):
            kind = "pointers" if any(member.pointer for member in members) else "numbers"
            what = f"{str(each)!r}, a pointer to structures that contain {kind}"
            raise InvalidKernel(
                f"{function.name} takes {what}; only structures by value, as {each.type} {each.name}, can be run"
            )


def _refuse_vectors(function: Function, given: Mapping[str, Any]) -> None:
    """Raise InvalidKernel for a function that indexes arrays as vectors, unless the user gives the arguments' roles."""
    if "args" not in given and (vectors := vectors_of(function)):
        what = f"{function.name} is not a matrix product: it indexes {' and '.join(vectors)} as vectors"
        raise InvalidKernel(f"{what}; --args gives the role of each parameter if it is one")


def _refuse_unused(file: str, text: str, parameters: Iterable[str]) -> None:
    """Raise InvalidKernel for a parameter that a source without headers of its own does not contain."""
    for name in parameters:
        if name not in words(text.encode()) and not has_quoted_includes(text.encode()):
            raise InvalidKernel(f"{file} has no {name} for --config to set")
