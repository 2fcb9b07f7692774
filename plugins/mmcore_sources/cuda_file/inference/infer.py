"""Inference of a kernel's declaration from a source: everything that the user did not give."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import Struct, Workspace
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint, Square
from mmcore.kernel.geometry import dim3
from mmcore_cuda.cuda_source.entities import without_overloads
from mmcore_cuda.cuda_source.includes import has_quoted_includes
from mmcore_cuda.cuda_source.program import Function, HostLaunch, Parameter, Program, read_program
from mmcore_cuda.cuda_source.taken_branches import without_skipped_definitions
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference import geometry
from mmcore_sources.cuda_file.inference.batches import wrong_steps
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.choice import chosen_function, is_product
from mmcore_sources.cuda_file.inference.element_types import element_types
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText
from mmcore_sources.cuda_file.inference.factors import constant_factors, operation
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes, fixed_sizes, with_free_sizes
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launch_geometry import launch_geometry, launched_cluster
from mmcore_sources.cuda_file.inference.logarithms import powers_of_two
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.one_block import one_block
from mmcore_sources.cuda_file.inference.parameters import launched_numbers, open_parameters
from mmcore_sources.cuda_file.inference.program_sizes import program_sizes
from mmcore_sources.cuda_file.inference.roles import (
    Roles,
    adds_to_c,
    given_arguments,
    matrices_of,
    roles_of,
    scalar_type,
    with_arguments,
)
from mmcore_sources.cuda_file.inference.single_fragment import single_fragment
from mmcore_sources.cuda_file.inference.storage import reads_b_by_columns
from mmcore_sources.cuda_file.inference.template_sizes import template_sizes, with_sizes
from mmcore_sources.cuda_file.inference.tensor_maps import (
    aligned_rows,
    of_elements,
    stored_columns,
    with_boxes,
    with_maps,
)
from mmcore_sources.cuda_file.inference.tuned_macros import refuse_undefined
from mmcore_sources.cuda_file.inference.unusual import Unusual, unusual_readings
from mmcore_sources.cuda_file.inference.vectors import vectors_of
from mmcore_sources.cuda_file.inference.whole_tiles import SomeBlock

_COOPERATIVE = re.compile("Launch(Attribute)?Cooperative")


@dataclass(frozen=True)
class Inferred:
    """A kernel of a file.

    Attributes:
        attributes: those of :class:`mmcore.Kernel` by name; the launch rule is a :class:`LaunchText`.
        notes: the inferred values, in the order in which they are printed.
        unusual: the unusual readings of the source.
        warnings: signs of a mistake in the host code, a sentence each.
        factors: alpha and beta, as the source's constants may mean.
    """

    attributes: Mapping[str, Any]
    notes: tuple[Note, ...]
    unusual: tuple[Unusual, ...] = ()
    warnings: tuple[str, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict)


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
    parameters, defines = dict(given.get("parameters", {})), dict(given.get("defines", {}))
    text, headers = without_skipped_definitions(text, headers, {**parameters, **defines})
    source = functools.reduce(lambda found, header: found.with_header(*header), headers, read_program(text))
    source = functools.reduce(lambda found, other: found.with_launches(*other), launching, source)
    entry = str(given.get("entry", ""))
    source = source.with_products_of_headers(is_product, entry.partition("<")[0].strip()).with_members()
    function, launch, notes = chosen_function(path.name, source, entry)
    taken, (function, maps, given) = function, with_maps(source, function, launch, given)
    _refuse_structures(source, function)
    whole_text, text = text, without_overloads(text, function, source.functions)
    if "args" not in given and (vectors := vectors_of(function)):
        what = f"{function.name} is not a matrix product: it indexes {' and '.join(vectors)} as vectors"
        raise InvalidKernel(f"{what}; --args gives the role of each parameter if it is one")
    for name in parameters:
        if name not in words(text.encode()) and not has_quoted_includes(text.encode()):
            raise InvalidKernel(f"{path.name} has no {name} for --config to set")
    # A macro that is a number becomes a parameter that block and grid may depend on.
    numbers = [name for name, value in defines.items() if name.isupper() and value.isdecimal()]
    parameters |= {name: int(defines.pop(name)) for name in numbers}
    given = {**given, "parameters": parameters, "defines": defines}
    known = {**defines, **parameters}
    chosen = open_parameters(source, function, launch, known, entry, given.get("dtype", "float32"))
    of_macros = {name: macro.text for name, macro in source.macros.items() if scalar_type(macro.text)}
    function = function.with_types({**chosen.types, **of_macros, **source.types})
    body = Body(function)
    refuse_undefined(path.name, source, body, launch, {**chosen.values, **known}, known)
    roles, role_notes, constraints = _roles(source, body, launch, given)
    fragment = None if roles.sizes else single_fragment(source, body)
    constraints = constraints if fragment is None else (fragment[0],)
    roles, map_notes = with_boxes(source, taken, roles, maps, {**chosen.values, **known})
    role_notes += map_notes
    of_template = {name: role for name, role in roles.sizes.items() if name in chosen.values and name not in known}
    launched = {name: chosen.values[name] for name in of_template}
    chosen = with_sizes(chosen, of_template)
    notes += chosen.notes
    types, type_notes = element_types(source, of_elements(source, function, maps), roles, chosen, given)
    constraints += tuple(aligned_rows(roles, {**types, **given}))
    factors = {} if "int" in types.get("dtype", "") else constant_factors(source, body, roles.pointers["C"])
    adds = "beta" not in given and adds_to_c(body, roles)
    scales, operation_notes = operation({name: factors[name] for name in factors.keys() - given.keys()}, adds=adds)
    role_notes += operation_notes
    by_columns = roles.by_columns and "column_major" not in given
    if by_columns:
        role_notes.append(Note("storage", "by columns", "as the source steps over A, B and C", "--column-major ''"))
    columns = "ABC" if by_columns else ""
    if "column_major" not in given and reads_b_by_columns(body, roles.pointers, set(roles.sizes)):
        columns = "B"
        role_notes.append(Note("storage of B", "by columns", "as the source steps over B", "--column-major ''"))
    if "column_major" not in given and not columns and fragment is not None and fragment[1]:
        columns = fragment[1]
        role_notes.append(Note(f"storage of {columns}", "by columns", "as the fragments say", "--column-major ''"))
    if "column_major" not in given and maps:
        columns, storage_notes = stored_columns(body, launch, roles, maps)
        role_notes += storage_notes
    named = {*identifiers(function.body)}
    macros = (each.text for each in source.macros.values() if each.name in named)
    searched, meant = "\n".join([text, *macros]), "args" in given
    unnamed = adds and scales["beta"] == 1
    unusual = tuple(unusual_readings(searched, launch, body, roles, adds=unnamed, columns=columns, named=meant))
    lone = one_block(source, body, roles, launch, given)
    if lone is not None:
        constraint, shape, note = lone
        constraints += (constraint,)
        role_notes.append(note)
        given = {**given, "block": shape, "grid": "1"}
    block, grid, shared, launch_notes = launch_geometry(source, body, roles, launch, chosen, given)
    # Blocks that wait for each other must all be resident, which <<<>>> does not ask for.
    ordinary = launch if source.cooperative and not _COOPERATIVE.search(text) else None
    if ordinary is not None:
        why = f"<<<>>> in {ordinary.place}; this_grid().sync() needs cudaLaunchCooperativeKernel"
        launch_notes.append(Note("launch", "ordinary", why, ""))
    cluster = launched_cluster(source, launch)
    rule = LaunchText(grid, str(shared), source.cooperative and ordinary is None, cluster)
    if "//" in grid and "gridDim" not in text_of(function.body):
        constraints += (SomeBlock(rule, roles.square),)
    shape = block(Config({"block": (1, 1, 1), **chosen.values})) if callable(block) else block
    extents = dict(zip(EXTENTS, dim3(shape), strict=True))
    whole = program_sizes(source, body, launch, roles, rule, {**chosen.values, **extents}, launched)
    fixing = next((each for each in constraints if isinstance(each, FixedSizes)), None)
    free = with_free_sizes(text, roles.sizes) if fixing and roles.sizes else None
    if fixing is not None:
        scaled = replace(fixing, rule=rule if free else None)
        constraints = tuple(scaled if each is fixing else each for each in constraints)
        role_notes.append(scaled.note(roles.sizes or ("the fragments",)))
    values = {name: value for name, value in chosen.values.items() if name not in defines}
    attributes = {
        "title": f"{function.name} of {path.name}" + "".join(f", read as {each}" for each in unusual),
        "entry": chosen.entry,
        "arguments": roles.arguments,
        "configs": [{"block": block, **values}],
        "launch": rule,
        "constraints": constraints,
        "program_sizes": whole,
        **scales,
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
    overrides |= {"text": free[0]} if free else {"text": text} if text != whole_text else {}
    own = launch is not None and len(launch.geometry) > 1 and not {"block", "grid"} & given.keys()
    warnings = [*geometry.unused_axes(Reader.of(source, launch, {}), launch, body)] if own and launch else []
    if types.get("output") in ("int8", "uint8"):
        warnings.append(f"C holds {types['output']}, so that larger sums wrap around; an int32_t C and sum keep them")
    warnings += wrong_steps(body, roles.pointers, roles.sizes) if roles.batch else ()
    if roles.batch:
        role_notes.append(Note("batch", "its first product", "blocks along z compute the others", "none"))
    notes = (*notes, *role_notes, *type_notes, *launch_notes)
    meant_factors = {name: each.value for name, each in factors.items()}
    return Inferred({**attributes, **overrides}, notes, unusual, tuple(warnings), meant_factors)


def _refuse_structures(source: Program, function: Function) -> None:
    """Raise InvalidKernel for a pointer to structures that contain pointers, which would have to be on the device."""
    for each in function.parameters:
        if each.pointer and any(member.pointer for member in source.structures.get(each.type.rstrip("*"), ())):
            what = f"{str(each)!r}, a pointer to structures that contain pointers"
            raise InvalidKernel(
                f"{function.name} takes {what}; only structures by value, as {each.type} {each.name}, can be run"
            )


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
        launched = launched_numbers(source, function, launch)
        roles = roles_of(function, body, launched, _unused(source, body, launched), by_rows=by_rows)
        shown = ", ".join(map(_shown, roles.arguments, function.parameters))
        notes = [Note("arguments", shown, roles.why, "--args", roles.guessed)]
    if not roles.sizes and (of_template := template_sizes(body, roles.pointers)):
        roles = replace(roles, sizes=of_template)
        shown = ", ".join(f"{name}={role}" for name, role in of_template.items())
        notes.append(Note("sizes", shown, "the template's parameters are the product's sizes", "--config"))
    constraints: tuple[Constraint, ...] = (*((Square(),) if roles.square else ()), *powers_of_two(roles.arguments))
    if not roles.sizes and (fixing := fixed_sizes(source, body, roles.pointers)) is not None:
        sizes, fixed = fixing
        roles = replace(roles, sizes=sizes)
        constraints = (fixed,)
    return roles, notes, constraints


def _unused(source: Program, body: Body, launched: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of the integer parameters if the body uses none of them, since constants are the sizes."""
    names = [each.name for each in body.function.parameters if "int" in scalar_type(each.type) and not each.pointer]
    with contextlib.suppress(InvalidKernel):
        if not body.names & {*names} and fixed_sizes(source, body, matrices_of(body.function, body)):
            return {name: launched.get(name, 1) for name in names}
    return {}


def _shown(argument: Any, parameter: Parameter) -> str:
    if isinstance(argument, Struct):
        members = zip(argument.members, parameter.members, strict=True)
        return f"{parameter.name}={{{', '.join(_shown(*each) for each in members if not each[1].pointer)}}}"
    if isinstance(argument, Workspace):
        return f"{parameter.name}=zeros"
    value = argument if isinstance(argument, str) else argument.value
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if text == parameter.name else f"{parameter.name}={text}"
