"""Values that a source leaves open until compilation, such as template parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.program import HostLaunch, Macro, Program
from mmcore_cuda.cuda_source.template_arguments import template_arguments
from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.class_arguments import class_argument, refuse_unknown_class
from mmcore_sources.cuda_file.inference.class_types import TYPES, enumeration_cast, enumerators
from mmcore_sources.cuda_file.inference.deduced_types import deduced_type
from mmcore_sources.cuda_file.inference.guessed_quotients import with_whole_quotients
from mmcore_sources.cuda_file.inference.host_calls import passed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.reached_launches import variables_of
from mmcore_sources.cuda_file.inference.roles import ELEMENTS

_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]*[A-Z0-9]|[A-Z]")
_OF_BLOCK = re.compile(r"TILE|TILE_?(WIDTH|SIZE|DIM)|BLOCK_?(SIZE|DIM|WIDTH)?|TS|BS|BLK|BLOCK_?(DIM_?)?[XYMN]?")
_USUAL_EDGE = 16
_OF_THREAD = re.compile(r"thread|warp|^[TW][MN]", re.IGNORECASE)
OF_TILE = re.compile(rf"^({_OF_BLOCK.pattern})$|tile|block|thread|warp|^[BTW][MNK]", re.IGNORECASE)
"""The names of a tile's edges."""
_SPECIAL = re.compile("skew|pad|offset|stage|iter|thread", re.IGNORECASE)
_USUAL = {"skew|pad|offset": 8, "stage|iter": 2, "mma": 16, "num_?threads": 256, "k$": 8, "warp|^w[mn]": 32,
          "thread|^t[mn]": 8, "": 64}  # fmt: skip
_NAMES = {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"}


@dataclass(frozen=True)
class Open:
    """The choices for what a source leaves open."""

    values: Mapping[str, Any]  # the parameters of the config by name: whole numbers
    entry: str  # the function's name expression, with ``{NAME}`` for parameters of the config
    types: Mapping[str, str] = field(default_factory=dict)  # the types that the template's type parameters stand for
    notes: tuple[Note, ...] = ()  # the values that the user did not give
    linked: Mapping[str, str] = field(default_factory=dict)  # by name in ``kernel<BLOCK_SIZE>``
    undefined: tuple[str, ...] = ()  # used, and defined neither by the source nor by the user
    sizes: Mapping[str, str] = field(default_factory=dict)  # the roles of template parameters that are sizes
    defines: Mapping[str, str] = field(default_factory=dict)  # the defaults that go with those among the values
    classes: Mapping[str, str] = field(default_factory=dict)  # the classes that type parameters stand for


def open_parameters(
    source: Program, function: Function, launch: HostLaunch | None, given: Mapping[str, Any], entry: str, element: str
) -> Open:
    """Choose values: those given or in the entry (``f<32>``), else the launch's, else defaults.

    Values that nothing shows are guessed. Raises InvalidKernel if the source fixes a given value.
    """
    values: dict[str, Any] = {}
    types: dict[str, str] = {}
    classes: dict[str, str] = {}
    linked: dict[str, str] = {}
    notes: list[Note] = []
    arguments: list[str] = []
    instance = arguments_of_instance(entry)
    shown = launch or source.instances.get(function.word)
    launched = instance or (shown.template if shown else ())
    by_threads = any(map(_OF_THREAD.search, (each.name for each in function.template)))
    for position, each in enumerate(function.template):
        text = launched[position] if position < len(launched) else each.default
        how = "launched" if launch else "instantiated"
        where = f"as {how} in {shown.place}" if shown and position < len(launched) else "the template's default"
        if each.type in TYPES:
            if class_ := class_argument(source, launch, text):
                classes[each.name] = class_
                arguments.append(class_)
                notes += [] if instance else [Note(each.name, class_, where, "--entry")]
                continue
            refuse_unknown_class(source, function, each.name)
            deduced = deduced_type(each.name, function, launch, source.types) if launch else []
            known = [word for word in deduced if source.types.get(word, word) in ELEMENTS]
            of_text = _type(text, source, launch)
            # The types of arguments come before a default.
            candidates = [of_text, *known] if position < len(launched) else [*known, of_text]
            types[each.name] = next(filter(None, candidates), _NAMES.get(element, "float"))
            arguments.append(types[each.name])
            continue
        constants = enumerators(Reader(source), each.type)
        number = constants.get(text, value_of(text, source, launch, given)) if text else None
        if number is None and _OF_BLOCK.fullmatch(each.name):
            number, where = _USUAL_EDGE, "nothing launches the template"
        if each.name not in given and number is not None and not instance:
            word = next((f"{number} ({each.type}::{name})" for name in constants if constants[name] == number), None)
            notes.append(Note(each.name, word or str(number), where, f"--config {each.name}=…", not text))
        if number is None and each.name not in given:
            number = next(iter(constants.values()), _usual(each, by_threads=by_threads))
            notes.append(Note(each.name, str(number), "nothing launches the template", f"--config {each.name}=…", True))
        values[each.name] = given.get(each.name, number)
        arguments.append(f"{enumeration_cast(Reader(source), each.type)}{{{each.name}}}")
        if constants:
            continue
        if text.isidentifier():
            linked[text] = each.name
        elif number is not None and launch is not None and not instance:
            linked |= dict.fromkeys(variables_of(source, launch, each.name, number), each.name)
    values = with_whole_quotients(source, function, values, {each.what for each in notes if each.guessed})
    notes = [each._replace(value=str(values[each.what])) if each.guessed else each for each in notes]
    used = {text_of(node) for node in walk(function.body) if node.type in ("identifier", "type_identifier")}
    defaults, defines = _defaults(source, used | linked.keys(), given)
    values |= defaults
    for name, number in defaults.items():
        notes.append(Note(name, str(number), f"its default in {source.macros[name].place}", f"--config {name}=…"))
    undefined = sorted(filter(_CAPITALS.fullmatch, used - source.declared - set(given)))
    for name in filter(source.macros.keys().__contains__, undefined):
        if (number := value_of(name, source, launch)) is not None:
            values[name] = number
            notes.append(Note(name, str(number), f"as defined in {source.macros[name].place}", f"--config {name}=…"))
    undefined = [name for name in undefined if name not in values]
    for name in filter(_OF_BLOCK.fullmatch, undefined):
        values[name] = _USUAL_EDGE
        notes.append(Note(name, str(_USUAL_EDGE), "the source does not define it", f"--config {name}=…", guessed=True))
    for name in given:
        fixed = source.macros.get(name)
        if fixed is not None and not fixed.group:
            raise InvalidKernel(f"{fixed.place} defines {name}, so that --config and --define have no effect")
    entry = f"{function.name}<{', '.join(arguments)}>" if arguments else function.name
    undefined = [name for name in undefined if name not in values]
    return Open(
        {**values, **given}, entry, types, tuple(notes), linked, tuple(undefined), defines=defines, classes=classes
    )


def _defaults(source: Program, used: Set[str], given: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, str]]:
    """Return the defaults of macros that the user does not give: numbers, and the texts of others in their groups.

    A macro that is defined turns off all defaults of its group, so that the others are defined, too. A group with types
    or code stays as it is unless the user gives one of its macros. NVRTC defines macros before it reads CUDA's headers,
    which may use their names.
    """
    values, defines = dict[str, int](), dict[str, str]()
    for group in dict.fromkeys(macro.group for macro in source.macros.values()):
        macros = {name: source.macros[name] for name in group if source.macros[name].group == group}
        known = {name: value_of(each.text, source, None) for name, each in macros.items() if each.parameters is None}
        numbers = {
            name: number
            for name, number in known.items()
            if number is not None and _CAPITALS.fullmatch(name) and (len(group) == 1 or not _is_derived(macros[name]))
        }
        only_numbers = known.keys() == macros.keys() and None not in known.values()
        if (only_numbers and not used.isdisjoint(numbers)) or not given.keys().isdisjoint(group):
            values |= {name: number for name, number in numbers.items() if name not in given}
            others = (macro for name, macro in macros.items() if name not in numbers and name not in given)
            defines |= {each.signature: each.text.replace("{", "{{").replace("}", "}}") for each in others}
    return values, defines


def _is_derived(macro: Macro) -> bool:
    """Return whether a macro stands for an expression of other names."""
    return re.search(r"\b[A-Za-z_]\w*", macro.text) is not None


def arguments_of_instance(entry: str) -> list[str]:
    """Return the arguments of a template in a name such as ``f<32, float>``."""
    return template_arguments(entry)[1]


def _usual(parameter: Parameter, *, by_threads: bool) -> int:
    """Return a value that many sources have for a template's parameter of that name.

    Tiles are larger where other parameters say how many elements each thread or warp computes.
    """
    if "bool" in parameter.type:
        return 0
    if not by_threads and not _SPECIAL.search(parameter.name):
        return _USUAL_EDGE
    return next(value for pattern, value in _USUAL.items() if re.search(pattern, parameter.name, re.IGNORECASE))


def _type(text: str, source: Program, launch: HostLaunch | None) -> str:
    argument = (
        passed(launch.scope, text, launch.call) if launch and launch.scope.type == "function_definition" else None
    )
    text = text if argument is None else text_of(argument.value)
    return text if source.types.get(text, text) in ELEMENTS else ""


def value_of(
    text: str, source: Program, launch: HostLaunch | None, given: Mapping[str, Any] = MappingProxyType({})
) -> int | None:
    """Return the number that an expression is where a kernel is launched; None if it is unknown.

    ``given`` has the values of macros that the user gave.
    """
    names = {name: ast.Constant(value) for name, value in given.items() if isinstance(value, int)}
    return Reader.of(source, launch, names).whole(text)


def launched_numbers(
    source: Program,
    function: Function,
    launch: HostLaunch | None,
    names: Mapping[str, ast.expr] = MappingProxyType({}),
    inputs: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    """Return the whole numbers that a launch passes, by parameter, or by member as "A.width".

    ``names`` has values of names in the host function, as in one turn of a loop, ``inputs`` assumed ones of the user.
    """
    values = dict[str, str]()
    for each, argument in zip(function.parameters, launch.arguments, strict=False) if launch else ():
        if not each.pointer:
            values[each.name] = text_of(argument)
            members = (member.name for member in each.members if not member.pointer)
            values |= {f"{each.name}.{member}": f"{text_of(argument)}.{member}" for member in members}
    reader = replace(Reader.of(source, launch, names), inputs=inputs)
    numbers = ((name, reader.whole(text)) for name, text in values.items())
    return {name: number for name, number in numbers if number is not None}


def parameter_names(chosen: Open) -> dict[str, ast.expr]:
    """Return the expressions for the parameters' names, and for the names linked to them."""
    numbers = [name for name, value in chosen.values.items() if isinstance(value, int)]
    names: dict[str, ast.expr] = {name: ast.Name(chosen.sizes.get(name, name)) for name in (*numbers, *chosen.sizes)}
    return {**{name: names[parameter] for name, parameter in chosen.linked.items() if parameter in names}, **names}
