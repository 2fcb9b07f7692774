"""The product of a kernel: the roles of its parameters, its element types, factors and storage."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import Struct, Workspace
from mmcore.kernel.constraints import Constraint, EqualSizes, Square
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.tokens import without_comments
from mmcore_cuda.cuda_source.tree import identifiers
from mmcore_sources.cuda_file.inference.activations import refuse_activation
from mmcore_sources.cuda_file.inference.arithmetic import uses_tensor_cores
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.column_lengths import steps_by_columns
from mmcore_sources.cuda_file.inference.derived_numbers import derived_numbers, with_derived_numbers
from mmcore_sources.cuda_file.inference.element_types import element_types
from mmcore_sources.cuda_file.inference.expressions import evaluate
from mmcore_sources.cuda_file.inference.factors import TRIED, Factor, constant_factors, operation
from mmcore_sources.cuda_file.inference.fixed_sides import FixedSides, fixed_sides, with_rows
from mmcore_sources.cuda_file.inference.fixed_sizes import fixed_sizes
from mmcore_sources.cuda_file.inference.fragments import single_fragment
from mmcore_sources.cuda_file.inference.given_arguments import given_arguments, whole_vectors, with_arguments
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.host_steps import refuse_host_steps, refuse_parts
from mmcore_sources.cuda_file.inference.logarithms import powers_of_two
from mmcore_sources.cuda_file.inference.map_layouts import with_layouts
from mmcore_sources.cuda_file.inference.map_storage import stored_columns
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.packed_elements import packed_types
from mmcore_sources.cuda_file.inference.parameters import Open
from mmcore_sources.cuda_file.inference.pitches import with_pitches
from mmcore_sources.cuda_file.inference.roles import (
    Roles,
    adds_to_c,
    matrices_of,
    passed_factors,
    roles_of,
    scalar_type,
)
from mmcore_sources.cuda_file.inference.shared_parameters import shared_parameter
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import reads_a_by_columns, reads_b_by_columns
from mmcore_sources.cuda_file.inference.template_sizes import template_sizes, with_sizes
from mmcore_sources.cuda_file.inference.tensor_maps import aligned_rows, of_elements, with_boxes
from mmcore_sources.cuda_file.inference.transposing_arguments import transposing_argument
from mmcore_sources.cuda_file.inference.unusual import Unusual, unusual_readings


@dataclass(frozen=True)
class Product:
    """The product that a kernel computes.

    Attributes:
        roles: the roles of the parameters.
        constraints: constraints on the sizes.
        types: the element types, attributes of :class:`mmcore.Kernel`.
        scales: alpha and beta.
        factors: the constant factors of the source, which alpha and beta may mean.
        column_major: the matrices stored by columns.
        shows_storage: True if the lengths of their columns show it.
        unusual: the unusual readings of the source.
        chosen: the choices for what the source leaves open, without template parameters that are sizes.
        launched: the launch's values of those.
        notes, type_notes: notes about the roles and storage, and about the types.
    """

    roles: Roles
    constraints: tuple[Constraint, ...]
    types: Mapping[str, str]
    scales: Mapping[str, float]
    factors: Mapping[str, Factor]
    column_major: str
    shows_storage: bool
    unusual: tuple[Unusual, ...]
    chosen: Open
    launched: Mapping[str, int]
    notes: tuple[Note, ...]
    type_notes: tuple[Note, ...]


def product_of(kernel: SourceKernel) -> Product:
    """Return the product that a kernel computes. Raises InvalidKernel, LacksOption."""
    source, body, given, chosen = kernel.source, kernel.body, kernel.given, kernel.chosen
    refuse_parts(kernel)
    roles, constraints, notes = _roles(kernel)
    refuse_host_steps(kernel, roles)
    refuse_activation(kernel, roles)
    fragment = None if roles.sizes else single_fragment(source, body)
    if fragment is not None:
        constraints = (fragment[0],)
    roles, map_notes = with_boxes(source, kernel.declared, roles, kernel.maps, kernel.values)
    of_template = {name: role for name, role in roles.sizes.items() if name in chosen.values.keys() - kernel.known}
    free = with_sizes(chosen, of_template)
    elements, shown_by = of_elements(source, kernel.function, roles, kernel.maps)
    types, type_notes = element_types(source, elements, roles, free, given, packed_types(body), shown_by)
    factors = {} if "int" in types.get("dtype", "") else constant_factors(source, body, roles.pointers["C"])
    adds = "beta" not in given and adds_to_c(body, roles)
    takes = {} if "int" in types.get("dtype", "") else passed_factors(body, roles)
    passed = {name for name, used in takes.items() if used} - given.keys()
    named = {name: factors[name] for name in factors.keys() - given.keys()}
    scales, operation_notes = operation(named, passed, adds=adds)
    columns, storage_notes = _storage(kernel, roles, fragment[1] if fragment is not None else "")
    declared = {**types, **given}
    roles, layout_notes = with_layouts(kernel, roles, constraints, str(declared.get("column_major", columns)), declared)
    why = "blocks along z or other launches compute the others"
    batch = [Note("batch", "its first product", why, "none")] if roles.batch else []
    return Product(
        roles=roles,
        constraints=(*constraints, *aligned_rows(roles, declared)),
        types=types,
        scales=scales,
        factors=factors,
        column_major=columns,
        shows_storage=columns == "ABC" and steps_by_columns(kernel, roles),
        unusual=(
            *_unusual(kernel, roles, columns, adds=adds and scales["beta"] == 1),
            *_without({*takes} - passed - given.keys(), kernel, roles, scales),
        ),
        chosen=free,
        launched={name: chosen.values[name] for name in of_template},
        notes=(*notes, *map_notes, *layout_notes, *operation_notes, *storage_notes, *batch),
        type_notes=tuple(type_notes),
    )


def _roles(kernel: SourceKernel) -> tuple[Roles, tuple[Constraint, ...], list[Note]]:
    """Return the roles of the parameters, constraints on the sizes, and notes."""
    body, given = kernel.body, kernel.given
    function = body.function
    if "args" in given:
        roles = with_arguments(given_arguments(list(given["args"]), function), body)
        notes = []
    else:
        by_rows = not {"A", "B"} & {*given.get("column_major", "A")}
        derived = derived_numbers(kernel)
        unused = _unused(kernel) | {name: kernel.launched.get(name, 1) for name in derived}
        roles = with_pitches(roles_of(function, body, kernel.launched, unused, by_rows=by_rows), function)
        roles = with_derived_numbers(roles, derived, function.parameters)
        notes = [_note_of_arguments(roles, body)]
    if not roles.sizes and (of_template := template_sizes(body, roles.pointers)):
        roles = replace(roles, sizes=of_template)
        shown = ", ".join(f"{name}={role}" for name, role in of_template.items())
        notes.append(Note("sizes", shown, "the template's parameters are the product's sizes", "--config"))
    of_sizes: tuple[Constraint, ...] = ()
    size_notes = list[Note]()
    if roles.sizes:
        roles, of_sizes, size_notes = _with_fixed_and_equal(kernel, roles)
    if roles.fixed and "args" not in given:
        notes[:1] = [_note_of_arguments(replace(roles, why="as the source's indexes show"), body)]
    notes += size_notes
    constraints: tuple[Constraint, ...] = (*of_sizes, *powers_of_two(roles.arguments), *whole_vectors(roles.arguments))
    if not roles.sizes and (fixing := fixed_sizes(kernel, roles.pointers)) is not None:
        sizes, fixed = fixing
        roles = replace(roles, sizes=sizes)
        constraints = (fixed,)
    return roles, constraints, notes


def _with_fixed_and_equal(kernel: SourceKernel, roles: Roles) -> tuple[Roles, tuple[Constraint, ...], list[Note]]:
    """Return roles with fixed and equal sizes, the constraints on these, and notes about them."""
    constants = fixed_sides(kernel, roles)
    fixed = {size: kernel.constants[name] for size, name in constants.items()}
    found = replace(with_rows(kernel, roles) if "n" in fixed else roles, fixed=fixed)
    notes = [Note(f"size {size}", str(fixed[size]), f"the source fixes {name}", "") for size, name in constants.items()]
    constraints: tuple[Constraint, ...] = (FixedSides(**fixed),) if fixed else ()
    shared = shared_parameter(kernel, found)
    if shared is not None:
        constraint = EqualSizes(shared[1])
        found, constraints = replace(found, pair=shared[1]), (*constraints, constraint)
        notes.append(Note("sizes", constraint.description, f"{shared[0]} is both", ""))
    elif found.square:
        found, constraints, notes = roles, (Square(),), []
    return found, constraints, notes


def _note_of_arguments(roles: Roles, body: Body) -> Note:
    shown = ", ".join(map(_shown, roles.arguments, body.function.parameters))
    return Note("arguments", shown, roles.why, "--args", roles.guessed)


def _unused(kernel: SourceKernel) -> dict[str, int]:
    """Return the numbers of the integer parameters if the body uses none of them, since constants are the sizes."""
    body, function = kernel.body, kernel.function
    names = [each.name for each in function.parameters if "int" in scalar_type(each.type) and not each.pointer]
    with contextlib.suppress(InvalidKernel):
        if body.names & {*names}:
            return {}
        if fixed_sizes(kernel, matrices_of(function, body)):
            return {name: kernel.launched.get(name, 1) for name in names}
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


def _storage(kernel: SourceKernel, roles: Roles, of_fragments: str) -> tuple[str, list[Note]]:
    """Return the matrices that are stored by columns, and notes; none if the user says it."""
    if "column_major" in kernel.given:
        return "", []
    if kernel.maps:
        tensor_cores = uses_tensor_cores(kernel.source, kernel.function)
        return stored_columns(kernel.body, kernel.launch, roles, kernel.maps, tensor_cores=tensor_cores)
    if steps_by_columns(kernel, roles):
        columns, what, why = "ABC", "storage", "as the source steps over A, B and C"
    elif reads_b_by_columns(kernel.body, roles.pointers, set(roles.sizes)):
        columns, what, why = "B", "storage of B", "as the source steps over B"
    elif reads_a_by_columns(kernel.body, roles.pointers, roles.sizes):
        columns, what, why = "A", "storage of A", "as the source steps over A"
    elif roles.by_columns and all(transposing_argument(kernel, roles.pointers[each]) for each in "AB"):
        columns, what, why = "AB", "storage of A and B", "as the source steps over A and B"
    elif roles.by_columns:
        columns, what, why = "ABC", "storage", "as the source steps over A, B and C"
    else:
        columns, what, why = of_fragments, f"storage of {of_fragments}", "as the fragments say"
    return columns, [Note(what, "by columns", f"{why}; '' is by rows", "--column-major")] if columns else []


def _without(
    factors: Collection[str], kernel: SourceKernel, roles: Roles, scales: Mapping[str, float]
) -> Iterator[Unusual]:
    """Yield the unusual readings without the ``factors`` that a kernel gets and does not use.

    ``scales`` has the numbers that the body has in their place. The launch supports a reading if it passes the same.
    """
    launch = kernel.launch
    values = [str(getattr(role, "value", role)) for role in roles.arguments]
    passed = dict(zip(values, launch.arguments if launch else (), strict=False))
    reader = Reader.of(kernel.source, launch, {})
    for name in sorted(factors):
        scale, evidence = scales[name], ""
        with contextlib.suppress(KeyError, InvalidKernel):
            if launch and evaluate(reader.number(passed[name]), {}) == scale:
                evidence = f"the {scale:g} that {launch.place} passes"
        reading = f"a product without the parameter {name}"
        yield Unusual(reading, f"one with {name}", {name: TRIED[name]}, f"--{name} {scale:g}", evidence)


def _unusual(kernel: SourceKernel, roles: Roles, columns: str, *, adds: bool) -> tuple[Unusual, ...]:
    named = {*identifiers(kernel.function.body)}
    macros = (each.text for each in kernel.source.macros.values() if each.name in named)
    code = without_comments(kernel.function.body.text or b"").decode()  # with that of macros, as of a header
    searched, meant = "\n".join([kernel.text, code, *macros]), "args" in kernel.given
    asked = [transposing_argument(kernel, roles.pointers[each]) for each in columns if columns != "ABC"]
    chosen = " and ".join(dict.fromkeys(asked)) if all(asked) else ""
    of_source = (searched, kernel.launch, kernel.body, roles)
    return tuple(unusual_readings(*of_source, adds=adds, columns=columns, named=meant, chosen=chosen))
