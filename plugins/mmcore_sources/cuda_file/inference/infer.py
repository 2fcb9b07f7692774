"""Inference of a kernel's declaration from a source: everything that the user did not give."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidKernel, LacksOption
from mmcore.kernel.arguments import SIZES, Struct
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint, Square
from mmcore.kernel.geometry import dim3, parse_shape
from mmcore_cuda.cuda_source.includes import has_quoted_includes
from mmcore_cuda.cuda_source.program import Function, HostLaunch, Parameter, Program, read_program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference import geometry
from mmcore_sources.cuda_file.inference.batches import wrong_steps
from mmcore_sources.cuda_file.inference.body import Body, layout_of
from mmcore_sources.cuda_file.inference.choice import chosen_function
from mmcore_sources.cuda_file.inference.element_types import element_types
from mmcore_sources.cuda_file.inference.expressions import (
    EXTENTS,
    Derived,
    LaunchText,
    evaluate,
    names_in,
    parse_expressions,
)
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes, fixed_sizes, with_free_sizes
from mmcore_sources.cuda_file.inference.geometry import Geometry
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.one_block import one_block
from mmcore_sources.cuda_file.inference.parameters import Open, launched_numbers, open_parameters, parameter_names
from mmcore_sources.cuda_file.inference.program_sizes import program_sizes
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.roles import Roles, adds_to_c, given_arguments, roles_of, with_arguments
from mmcore_sources.cuda_file.inference.shared_memory import launched_bytes
from mmcore_sources.cuda_file.inference.storage import reads_b_by_columns
from mmcore_sources.cuda_file.inference.unusual import Unusual, unusual_readings
from mmcore_sources.cuda_file.inference.vectors import vectors_of
from mmcore_sources.cuda_file.inference.warps import block_of_warps
from mmcore_sources.cuda_file.inference.whole_tiles import SomeBlock

_MOST_SHARED = 48 << 10  # bytes that a block may have without further ado
_DYNAMIC = re.compile(r'\bextern\b[^;{"]*\b__shared__\b')
_OF_BLOCKS = re.compile(r'\b(blockIdx|ctaid|cooperative_groups)\b|#\s*include\s*"')  # or of a header, perhaps
_COOPERATIVE = re.compile("Launch(Attribute)?Cooperative")


@dataclass(frozen=True)
class Inferred:
    """A kernel of a file."""

    attributes: Mapping[str, Any]  # those of :class:`mmcore.Kernel` by name; the launch rule is a :class:`LaunchText`
    notes: tuple[Note, ...]  # the inferred values, in the order in which they are printed
    unusual: tuple[Unusual, ...] = ()  # the unusual readings of the source
    warnings: tuple[str, ...] = ()  # signs of a mistake in the host code, a sentence each


def infer(
    path: Path,
    text: str,
    given: Mapping[str, Any],
    headers: Iterable[tuple[str, str]] = (),
    launching: Iterable[tuple[str, str]] = (),
) -> Inferred:
    """Return the declaration of a file's kernel.

    The user's values may be given: ``entry``, ``args``, ``grid``, ``block``, ``parameters``, ``shared``, and attributes
    of :class:`mmcore.Kernel`. ``headers`` are the names and texts of the headers that it includes, ``launching`` those
    of other files that launch its kernels. Raises InvalidKernel if it has no kernel, or several, or lacks something;
    the message names the option that gives it.
    """
    source = functools.reduce(lambda found, header: found.with_header(*header), headers, read_program(text))
    source = functools.reduce(lambda found, other: found.with_launches(*other), launching, source).with_members()
    function, launch, notes = chosen_function(path.name, source, str(given.get("entry", "")))
    if "args" not in given and (vectors := vectors_of(function)):
        what = f"{function.name} is not a matrix product: it indexes {' and '.join(vectors)} as vectors"
        raise InvalidKernel(f"{what}; --args gives the role of each parameter if it is one")
    parameters, defines = dict(given.get("parameters", {})), dict(given.get("defines", {}))
    for name in parameters:
        if name not in words(text.encode()) and not has_quoted_includes(text.encode()):
            raise InvalidKernel(f"{path.name} has no {name} for --config to set")
    # A macro that is a number becomes a parameter that block and grid may depend on.
    numbers = [name for name, value in defines.items() if name.isupper() and value.isdecimal()]
    parameters |= {name: int(defines.pop(name)) for name in numbers}
    given = {**given, "parameters": parameters, "defines": defines}
    known = {**defines, **parameters}
    entry = str(given.get("entry", ""))
    chosen = open_parameters(source, function, launch, known, entry, given.get("dtype", "float32"))
    notes += chosen.notes
    function = function.with_types({**chosen.types, **source.types})
    body = Body(function)
    roles, role_notes, constraints = _roles(source, body, launch, given)
    types, type_notes = element_types(source, function, roles, chosen, given)
    beta = float(given.get("beta", adds_to_c(body, roles)))
    adds = bool(beta) and "beta" not in given
    if adds:
        role_notes.append(Note("operation", "C = C + A·B", "what C held is added", "--alpha, --beta"))
    by_columns = roles.by_columns and "column_major" not in given
    if by_columns:
        role_notes.append(Note("storage", "by columns", "as the source steps over A, B and C", "--column-major ''"))
    columns = "ABC" if by_columns else ""
    if "column_major" not in given and reads_b_by_columns(body, roles.pointers, set(roles.sizes)):
        columns = "B"
        role_notes.append(Note("storage of B", "by columns", "as the source steps over B", "--column-major ''"))
    named = {*identifiers(function.body)}
    macros = (each.text for each in source.macros.values() if each.name in named)
    searched, meant = "\n".join([text, *macros]), "args" in given
    unusual = tuple(unusual_readings(searched, launch, body, roles, adds=adds, columns=columns, named=meant))
    lone = one_block(source, body, roles, launch, given)
    if lone is not None:
        constraint, shape, note = lone
        constraints += (constraint,)
        role_notes.append(note)
        given = {**given, "block": shape, "grid": "1"}
    block, grid, shared, launch_notes = _geometry(source, body, roles, launch, chosen, given)
    # Blocks that wait for each other must all be resident, which <<<>>> does not ask for.
    ordinary = launch if source.cooperative and not _COOPERATIVE.search(text) else None
    if ordinary is not None:
        why = f"<<<>>> in {ordinary.place}; this_grid().sync() needs cudaLaunchCooperativeKernel"
        launch_notes.append(Note("launch", "ordinary", why, ""))
    rule = LaunchText(grid, str(shared), cooperative=source.cooperative and ordinary is None)
    if "//" in grid and "gridDim" not in text_of(function.body):
        constraints += (SomeBlock(rule, roles.square),)
    shape = block(Config({"block": (1, 1, 1), **chosen.values})) if callable(block) else block
    extents = dict(zip(EXTENTS, dim3(shape), strict=True))
    whole = program_sizes(source, body, launch, roles, rule, {**chosen.values, **extents})
    fixing = next((each for each in constraints if isinstance(each, FixedSizes)), None)
    free = with_free_sizes(text, roles.sizes) if fixing else None
    if fixing is not None:
        scaled = replace(fixing, rule=rule if free else None)
        constraints = tuple(scaled if each is fixing else each for each in constraints)
        role_notes.append(scaled.note(roles.sizes))
    values = {name: value for name, value in chosen.values.items() if name not in defines}
    attributes = {
        "title": f"{function.name} of {path.name}" + "".join(f", read as {each}" for each in unusual),
        "entry": chosen.entry,
        "arguments": roles.arguments,
        "configs": [{"block": block, **values}],
        "launch": rule,
        "constraints": constraints,
        "program_sizes": whole,
        "beta": beta,
        "column_major": columns,
        **types,
    }
    of_launch = ("entry", "args", "grid", "block", "parameters", "shared")
    overrides = {name: value for name, value in given.items() if name not in of_launch}
    # A launch defines parameters in capitals as macros; here others become macros, too, as in Kernel Tuner.
    open_names = {each.name for each in function.template}
    others = {name: f"{{{name}}}" for name in parameters if not name.isupper() and name not in open_names}
    if fixed := sorted(others.keys() & (source.declared - source.macros.keys())):
        raise InvalidKernel(f"{path.name} declares {fixed[0]}, so that --config has no effect on it")
    overrides["defines"] = {**defines, **others} | (free[1] if free else {})
    overrides |= {"text": free[0]} if free else {}
    own = launch is not None and len(launch.geometry) > 1 and not {"block", "grid"} & given.keys()
    warnings = [*geometry.unused_axes(Reader.of(source, launch, {}), launch, body)] if own and launch else []
    if types.get("output") in ("int8", "uint8"):
        warnings.append(f"C holds {types['output']}, so that larger sums wrap around; an int32_t C and sum keep them")
    warnings += wrong_steps(body, roles.pointers, roles.sizes) if roles.batch else ()
    if roles.batch:
        role_notes.append(Note("batch", "its first product", "blocks along z compute the others", "none"))
    notes = (*notes, *role_notes, *type_notes, *launch_notes)
    return Inferred({**attributes, **overrides}, notes, unusual, tuple(warnings))


def _roles(
    source: Program, body: Body, launch: HostLaunch | None, given: Mapping[str, Any]
) -> tuple[Roles, list[Note], tuple[Constraint, ...]]:
    """Return the roles of the parameters, notes about them, and constraints on the sizes."""
    function = body.function
    if "args" in given:
        roles = with_arguments(given_arguments(list(given["args"]), function), function)
        notes = []
    else:
        by_rows = "A" not in given.get("column_major", "A")
        roles = roles_of(function, body, launched_numbers(source, function, launch), by_rows=by_rows)
        shown = ", ".join(map(_shown, roles.arguments, function.parameters))
        notes = [Note("arguments", shown, roles.why, "--args", roles.guessed)]
    constraints: tuple[Constraint, ...] = (Square(),) if roles.square else ()
    if not roles.sizes and (fixing := fixed_sizes(source, body, roles.pointers)) is not None:
        sizes, fixed = fixing
        roles = replace(roles, sizes=sizes)
        constraints = (fixed,)
    return roles, notes, constraints


def _shown(argument: Any, parameter: Parameter) -> str:
    if isinstance(argument, Struct):
        members = zip(argument.members, parameter.members, strict=True)
        return f"{parameter.name}={{{', '.join(_shown(*each) for each in members if not each[1].pointer)}}}"
    value = argument if isinstance(argument, str) else argument.value
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if text == parameter.name else f"{parameter.name}={text}"


def _geometry(
    source: Program, body: Body, roles: Roles, launch: HostLaunch | None, chosen: Open, given: Mapping[str, Any]
) -> tuple[Any, str, str, list[Note]]:
    """Return the block, the texts of grid and dynamic shared memory, and notes about them."""
    names, function = parameter_names(chosen), body.function
    by_columns = "C" in given.get("column_major", "ABC" if roles.by_columns else "")
    lengths = ("m" if by_columns and not roles.square else "n", "ldc")
    strides = {name for name, role in roles.sizes.items() if role in lengths}
    layout = layout_of(body, roles.pointers["C"], strides)
    layout = layout.turned() if layout is not None and by_columns else layout
    block = grid = None
    shared: ast.expr | None = None
    if launch is not None:
        reader = Reader.of(source, launch, names)
        block, grid = geometry.launched(reader, launch, roles, body, layout)
        shared = None if "shared" in given else launched_bytes(reader, launch)
    sizes: dict[str, ast.expr] = {name: ast.Name(role) for name, role in roles.sizes.items()}
    launched, launched_grid = block, grid
    if layout is not None and (block is None or grid is None):
        block_of_body, grid_of_body = geometry.by_body(Reader(source, {**sizes, **names}), body, layout)
        block, grid = block or block_of_body, grid or grid_of_body
    block = block if launched is not None else geometry.by_names(names) or block
    reader = Reader(source, names)
    block = launched or geometry.within_bounds(reader, body, block, chosen.values)
    if launched is None and geometry.is_unclear(block, chosen.values):
        block = block_of_warps(reader, body) or block
    notes: list[Note] = []
    if block is None and "block" not in given and roles.sizes and not chosen.undefined:
        block = geometry.usual_block(body)
    flat = body.thread_axes == {"x"} or (block is not None and len(block.extents) == 1)
    shape: Any = parse_block(given["block"], flat=flat) if "block" in given else _shape(function, block, chosen)
    if "block" not in given and block is not None:
        extents = shape(Config({"block": (1, 1, 1), **chosen.values})) if callable(shape) else shape
        notes.append(Note("block", str(dim3(extents)), block.why, "--block", block.guessed))
    text = str(given.get("grid", ""))
    if not text and grid is None:
        usual = parse_expressions("ceil(n/bx), ceil(m/by)", "the grid")
        grid = Geometry(usual, "the source does not give it", guessed=True)
        if body.thread_axes and not _OF_BLOCKS.search(source.text):
            grid = Geometry(parse_expressions("1", "the grid"), "the source does not use blockIdx")
    if grid is not launched_grid and launch is not None:
        grid = geometry.along_x(grid, Reader.of(source, launch, names), launch)
    if not text and grid is not None:
        notes.append(Note("grid", (text := grid.text), grid.why, "--grid", grid.guessed))
    alone = len(source.functions) == 1
    extern = "shared" not in given and _DYNAMIC.search(source.text if alone else text_of(function.body))
    unknown = extern and launch is None
    usual_bytes = ast.Constant(_MOST_SHARED if unknown else 0)
    dynamic = str(given.get("shared", ast.unparse(shared or usual_bytes)))
    if extern or ("shared" not in given and shared is not None):
        why = "its extern array has no size" if unknown else "as launched"
        notes.append(Note("dynamic shared bytes", dynamic, why, "--shared", bool(unknown)))
    for each, what in ((text, "the grid"), (dynamic, "the shared memory")):
        _check_names(each, what, chosen)
    return shape, text, dynamic, notes


def parse_block(text: Any, *, flat: bool) -> tuple[int, ...]:
    """Return a block that a user gives: 32 is 32×32 unless the source's blocks are ``flat``."""
    extents = parse_shape(text) if isinstance(text, str) else tuple(text)
    return extents * 2 if len(extents) == 1 and isinstance(text, str) and not flat else extents


def _shape(function: Function, block: Geometry | None, chosen: Open) -> Any:
    """Return the block of a config: numbers, or a rule that depends on the other parameters."""
    if block is None:
        reason = f"the block of {function.name} is unknown; give it, as in --block 16x16"
        names = ", ".join(chosen.undefined)
        reason += f", or --define for what the source does not define: {names}" * bool(names)
        raise LacksOption(reason, "--block 256" if Body(function).thread_axes == {"x"} else "--block 16x16")
    values = {name: value for name, value in chosen.values.items() if isinstance(value, int)}
    if unknown := {name for each in block.extents for name in names_in(each)} - values.keys():
        follows = f"follows from {', '.join(sorted(unknown))}; --block gives it in numbers"
        raise InvalidKernel(f"the block of {function.name} {follows}")
    extents = tuple(int(evaluate(each, values)) for each in block.extents)
    geometry.check_threads(block, extents)
    return extents if all(constant(each) is not None for each in block.extents) else Derived(block.text)


def _check_names(text: str, what: str, chosen: Open) -> None:
    known = (*SIZES, *EXTENTS, *chosen.values)
    for name in sorted(set().union(*map(names_in, parse_expressions(text, what)))):
        if name not in known:
            raise InvalidKernel(f"{name!r} in {what} {text!r} is no value of a launch; there are {', '.join(known)}")
