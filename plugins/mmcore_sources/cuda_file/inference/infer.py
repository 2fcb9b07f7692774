"""Inference of a kernel's declaration from a source: everything that the user did not give."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmcore.devices.violations import Violation
from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.sizes import Sizes
from mmcore.verdict import NOT_RUN
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_sources.cuda_file.hints.counted_steps import loop_along_k
from mmcore_sources.cuda_file.inference.arithmetic import line_of_tf32, may_have_wide_sums
from mmcore_sources.cuda_file.inference.batch_steps import WrongStep, wrong_steps
from mmcore_sources.cuda_file.inference.batches import is_one_product
from mmcore_sources.cuda_file.inference.element_types import ACCUMULATOR, DIGITS
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.free_sizes import passed_sizes, with_free_sizes
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launch_rule import LaunchRule, launch_rule
from mmcore_sources.cuda_file.inference.looped_launches import looped_launch
from mmcore_sources.cuda_file.inference.map_types import other_types
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.passed_steps import PassedSteps
from mmcore_sources.cuda_file.inference.product import Product, product_of
from mmcore_sources.cuda_file.inference.refused_launches import RefusedLaunch
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel, read_kernel
from mmcore_sources.cuda_file.inference.structure_values import packed
from mmcore_sources.cuda_file.inference.unusual import Unusual

_OF_LAUNCH = ("entry", "args", "grid", "block", "parameters", "shared")


@dataclass(frozen=True)
class Inferred:
    """A kernel of a file.

    Attributes:
        attributes: those of :class:`mmcore.Kernel` by name; the launch rule is a :class:`LaunchText`.
        notes: the inferred values, in the order in which they are printed.
        unusual: the unusual readings of the source.
        warnings: signs of a mistake in the host code, a sentence each.
        factors: alpha and beta, as the source's constants may mean.
        bugs: the bugs of host code that is not CUDA C++.
        launched_sizes: the sizes with which the program launches the kernel; None if they are not known.
        line: the line of its launch in the file; 0 if there is none.
        shows_storage: True if the lengths that the source steps by show how the matrices are stored.
        batch_faults: the lines and sentences of wrong steps to the next product of a batch.
        refused: the launches of the program that CUDA refuses.
    """

    attributes: Mapping[str, Any]
    notes: tuple[Note, ...]
    unusual: tuple[Unusual, ...] = ()
    warnings: tuple[str, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict)
    bugs: tuple[Violation, ...] = ()
    launched_sizes: Sizes | None = None
    line: int = 0
    batch_faults: tuple[tuple[int, str], ...] = ()
    shows_storage: bool = False
    refused: tuple[RefusedLaunch, ...] = ()


def infer(
    path: Path,
    text: str,
    given: Mapping[str, Any],
    headers: Iterable[tuple[str, str]] = (),
    launching: Iterable[tuple[str, str]] = (),
    calling: Iterable[tuple[str, str]] = (),
) -> Inferred:
    """Return the declaration of a file's kernel.

    The user's values may be given: ``entry``, ``args``, ``grid``, ``block``, ``parameters``, ``shared``, and attributes
    of :class:`mmcore.Kernel`. Names and texts of other files are in ``headers``, which it includes, in ``launching``,
    which launch its kernels, and in ``calling``, which call the functions around launches.
    Raises InvalidKernel if it has no kernel, or several, or lacks something; the message names the option that gives
    it.
    """
    kernel = read_kernel(path.name, text, given, headers, launching, calling)
    product = product_of(kernel)
    launch = launch_rule(kernel, product)
    constraints, fixed_notes, free = _fixed_sizes(kernel, product, launch)
    values = {name: value for name, value in product.chosen.values.items() if name not in kernel.defines}
    attributes = {
        "title": f"{kernel.function.name} of {kernel.file}" + "".join(f", read as {each}" for each in product.unusual),
        "entry": product.chosen.entry,
        "arguments": packed(product.roles.arguments, kernel.function.parameters),
        "configs": [{"block": launch.block, **values}],
        "launch": launch.text,
        "constraints": constraints,
        "program_sizes": launch.program_sizes,
        **product.scales,
        "column_major": product.column_major,
        **product.types,
        **{name: value for name, value in kernel.given.items() if name not in _OF_LAUNCH},
        **free,
        "defines": {**product.chosen.defines, **kernel.defines, **_macros(kernel), **free.get("defines", {})},
    }
    of_choice = (*kernel.notes, *product.chosen.notes)
    notes = (*of_choice, *product.notes, *launch.size_notes, *fixed_notes, *product.type_notes, *launch.notes)
    of_batch = _batch_faults(kernel, product)
    steps = (str(step) for step, fault in of_batch if not fault)
    looped = looped_launch(kernel, product.roles) if not product.roles.batch else None
    several = looped is not None or (product.roles.batch and not is_one_product(kernel.launched))
    others = (f"{NOT_RUN}all products of the batch but the first",) if several else ()
    of_maps = other_types(kernel, product.roles, attributes)
    warnings = (*launch.warnings, *_warnings(kernel, product), *of_maps, *steps, *others)
    factors = {name: each.value for name, each in product.factors.items()}
    launched = product.roles.sizes_in(kernel.launched)
    sizes = Sizes(**launched) if len(launched) == len(Sizes._fields) else None
    faults = tuple((step.line, fault) for step, fault in of_batch if fault)
    faults += tuple(looped.faults()) if looped is not None else ()
    line = kernel.launch.line if kernel.launch is not None and not kernel.launch.file else 0
    return Inferred(
        attributes,
        notes,
        product.unusual,
        warnings,
        factors,
        launched_sizes=sizes,
        line=line,
        batch_faults=faults,
        shows_storage=product.shows_storage,
        refused=launch.refused,
    )


def _fixed_sizes(
    kernel: SourceKernel, product: Product, launch: LaunchRule
) -> tuple[tuple[Constraint, ...], list[Note], dict[str, Any]]:
    """Return all constraints, a note about constants that are sizes, and a text with free sizes if there is one."""
    constraints = (*product.constraints, *launch.constraints)
    shortened = {"text": kernel.text} if kernel.is_shortened else {}
    fixing = next((each for each in constraints if isinstance(each, FixedSizes)), None)
    if fixing is None:
        passed = passed_sizes(kernel, product.roles.sizes)
        free = with_free_sizes(kernel, passed) if passed else None
        if free is None:
            return constraints, [], shortened
        shown = ", ".join(f"{name}={role}" for name, role in passed.items())
        note = Note("constants", shown, "passed as these sizes: redefined, since other values would be wrong", "")
        return constraints, [note], {"text": free[0], "defines": free[1]}
    sizes = product.roles.sizes
    fixed = not sizes or sizes.keys() & kernel.parameters.keys() or _counts_steps(kernel, product, launch)
    originals = {name: role for name, role in sizes.items() if kernel.original(name) == name}
    free = None if fixed else with_free_sizes(kernel, originals)
    scaled = replace(fixing, rule=launch.text if free else None)
    constraints = tuple(scaled if each is fixing else each for each in constraints)
    changed = {"text": free[0], "defines": free[1]} if free else shortened
    return constraints, [scaled.note(originals or ("the fragments",))], changed


def _counts_steps(kernel: SourceKernel, product: Product, launch: LaunchRule) -> bool:
    """Return whether a loop along k goes up to a number that does not follow from the constants that are sizes."""
    sizes = product.roles.sizes
    reader = Reader(kernel.source, {name: ast.Name(role) for name, role in sizes.items()})
    config = Config({"block": (1, 1, 1), **product.chosen.values})
    config = Config({**config, "block": launch.block(config) if callable(launch.block) else launch.block})
    pointers, columns = product.roles.pointers, product.column_major
    return loop_along_k(kernel.body, reader, pointers, {*sizes}, columns, config) is not None


def _macros(kernel: SourceKernel) -> dict[str, str]:
    """Return the macros of parameters that a launch does not define by itself: in small letters, as in Kernel Tuner.

    Raises InvalidKernel if the source declares one itself.
    """
    open_names = {each.name for each in kernel.function.template}
    names = [name for name in kernel.parameters if not name.isupper() and name not in open_names]
    if fixed := sorted({*names} & (kernel.source.declared - kernel.source.macros.keys())):
        raise InvalidKernel(f"{kernel.file} declares {fixed[0]}, so that --config has no effect on it")
    return {name: f"{{{name}}}" for name in names}


def _warnings(kernel: SourceKernel, product: Product) -> list[str]:
    """Return signs of a mistake in the types, and types with fewer digits than those of the matrices suggest."""
    if (output := product.types.get("output")) in ("int8", "uint8"):
        return [f"C holds {output}, so that larger sums wrap around; an int32_t C and sum keep them"]
    if product.types.get("dtype") == "tf32":
        line = line_of_tf32(kernel.source)
        at = f" in line {line}" if line else ""
        less = "so that C differs from a float32 product from the fourth digit on"
        return [f"tensor cores{at} round A and B of float32 to tf32, {less}"]
    sums = product.types.get("accumulator")
    if sums in DIGITS:
        note = next(each for each in product.type_notes if each.option == ACCUMULATOR)
        some = "some " * may_have_wide_sums(kernel.source, kernel.function, product.chosen.types)
        return [f"{some}{note.what.removesuffix(' in')} are {sums}: {note.why}"]
    return []


def _batch_faults(kernel: SourceKernel, product: Product) -> list[tuple[WrongStep, str]]:
    """Return the wrong steps to the next product of a batch, and their faults; "" if the program's sizes show none."""
    roles = product.roles
    if not roles.batch:
        return []
    passed = PassedSteps.of(kernel, roles.arguments, roles.sizes)
    steps = wrong_steps(kernel.body, roles.pointers, roles.sizes, passed)
    alone = is_one_product(kernel.launched)
    return [(_at_launch(step, kernel.launch), "" if alone else step.fault(kernel.launched)) for step in steps]


def _at_launch(step: WrongStep, launch: HostLaunch | None) -> WrongStep:
    """Return a step with the line of the launch in the file that passes it."""
    return step._replace(line=launch.line) if step.parameter and launch and not launch.file else step
