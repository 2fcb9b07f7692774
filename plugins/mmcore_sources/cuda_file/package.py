"""The declaration of a file's kernel as a module of a package, with the reasons as comments."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mmcore.errors import InvalidKernel
from mmcore.files import read_text
from mmcore.kernel.arguments import SIZES, Scalar, Struct, TensorMap, Workspace
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.constraints import Constraint, EqualSizes, Multiple, multiples_of
from mmcore.kernel.signature import signatures
from mmcore_sources.cuda_file.files import inferred_of, path_of
from mmcore_sources.cuda_file.inference.expressions import (
    EXTENTS,
    Derived,
    LaunchText,
    SizeRule,
    parse_expressions,
    python_text,
)
from mmcore_sources.cuda_file.inference.fixed_sides import FixedSides
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.launch_conditions import LaunchedIf
from mmcore_sources.cuda_file.inference.logarithms import PowersOfTwo
from mmcore_sources.cuda_file.inference.map_layouts import EncodedLayout
from mmcore_sources.cuda_file.inference.one_block import OneBlock
from mmcore_sources.cuda_file.inference.program_sizes import AtLeast
from mmcore_sources.cuda_file.inference.sized_blocks import SizedBlock
from mmcore_sources.cuda_file.inference.whole_tiles import GridConstraint
from mmcore_sources.cuda_file.packaged_source import PackagedSource, packaged_source
from mmcore_sources.cuda_file.whole_sizes import compute_capability, is_unguarded, steps_of_k, whole_tiles

_COLUMNS = 120
_INDENT = " " * 8
_OPTIONAL = ("dtype", "output", "accumulator", "column_major", "alpha", "beta", "defines", "options",
             "min_compute_capability", "architecture")  # fmt: skip
_USUAL = {"dtype": "float32", "output": "float32", "alpha": 1.0}
_WHY = {"beta": "operation", "column_major": "storage", "accumulator": "sums in"}

_EXPORTED = ("Config", "DeviceProperties", "EqualSizes", "Launch", "Multiple", "Problem", "Scalar", "Square", "Struct",
             "TensorMap", "Workspace", "ceil_div")  # fmt: skip

_FIXED = '''
class FixedSizes:
    """A constraint: the source is written for one m, n and k."""

    description = "m×n×k = {0}×{1}×{2}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return the reason why the product cannot be computed; None if it can."""
        fits = (problem.m, problem.n, problem.k) == ({0}, {1}, {2})
        return None if fits else f"the source is written for {0}×{1}×{2}, not {{problem}}"

'''

_SIDES = '''
class FixedSides:
    """A constraint: the source is written for {0}."""

    description = "{0}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return the reason why the product cannot be computed; None if it can."""
        fits = {1}
        return None if fits else f"the source is written for {0}, not {{problem}}"

'''

_OF_BLOCK = '''
class {name}:
    """A constraint: {description}."""

    description = "{description}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return the reason why the product cannot be computed; None if it can."""
        fits = {condition}
        return None if fits else f"no block fits {{problem}}: {description}"

'''

_HOOK = '''
@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the kernel of this module."""
    return Kernel(
{body}    )
'''

_RULE = '''
def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Return the launch of one product."""
    grid = {grid}
    return Launch(grid=grid, block={block}, shared_bytes={shared}{more})

'''


class _Listed(NamedTuple):
    """A list in the text of a module, which is broken into lines if it is long."""

    opening: str
    parts: Sequence[str]
    closing: str

    def __str__(self) -> str:
        """Return the list in one line."""
        return f"{self.opening}{', '.join(self.parts)}{self.closing}"

    def in_lines(self, indent: str) -> str:
        """Return the list with one part in each line."""
        return "\n".join(
            [self.opening, *(f"{indent}    {each}," for each in self.parts), f"{indent}{self.closing.lstrip(',')}"]
        )


def package_files(
    reference: Mapping[str, Any], kernel: str, module: str, source: str, steps: Mapping[str, int] = MappingProxyType({})
) -> dict[str, str]:
    """Return a module that declares a file's kernel, its source, and its project's headers: texts by path.

    ``kernel`` is its name in the package; ``module`` and ``source`` are the names of the two files. The source is in a
    folder if it includes headers of others, so that each file is found from the other as before. ``steps`` are the
    numbers whose multiples sizes have to be, as small products show them.
    Raises InvalidKernel if it is not CUDA C++.
    """
    given = path_of(reference)
    path = given.parent.resolve() / given.name
    inferred = inferred_of({**reference, "file": str(path)})
    attributes = inferred.attributes
    if "build" in attributes:
        raise InvalidKernel(f"the kernel of {path.name} is not CUDA C++, which alone is copied into a package")
    text, options = _text_of(path, inferred), attributes.get("options", ())
    packaged = packaged_source(path, text, source, options, attributes.get("include", ()))
    return {module: declaration(inferred, kernel, packaged, steps), **packaged.files}


def declared_multiples(reference: Mapping[str, Any]) -> list[Multiple]:
    """Return the multiples among the constraints that are written for a file's kernel."""
    inferred = inferred_of(reference)
    found = _constraints(inferred, _text_of(Path(reference["file"]), inferred))
    return [each for each in found if isinstance(each, Multiple)]


def _text_of(path: Path, inferred: Inferred) -> str:
    """Return the text of a kernel's source, as it is compiled."""
    return str(inferred.attributes.get("text", "")).lstrip() or read_text(path)


def declaration(inferred: Inferred, kernel: str, packaged: PackagedSource, steps: Mapping[str, int]) -> str:
    """Return the text of a module that declares a file's kernel, whose source is ``packaged``."""
    text = packaged.text
    attributes = {**compute_capability(text), **inferred.attributes, "options": packaged.options}
    why = {note.what: f"{'a guess: ' * note.guessed}{note.why}" for note in inferred.notes}
    rule: LaunchText = attributes["launch"]
    grid = _tuple([python_text(_with_block(each, rule)) for each in parse_expressions(rule.grid, "the grid")])
    constraints = [*_constraints(inferred, text), *multiples_of(steps)]
    before = "".join(_FIXED.format(each.m, each.n, each.k) for each in constraints if isinstance(each, FixedSizes))
    for each in constraints:
        if isinstance(each, FixedSides):
            fits = " and ".join(f"problem.{name} == {size}" for name, size in each.sizes.items())
            before += _SIDES.format(each.text, fits)
        elif isinstance(each, OneBlock | SizedBlock):
            condition = python_text(_with_block(ast.parse(each.condition, mode="eval").body, rule))
            before += _OF_BLOCK.format(name=type(each).__name__, description=each.description, condition=condition)
    rows: list[tuple[str, str | _Listed, str]] = [
        ("name", _text(kernel), ""),
        ("title", _text(attributes["title"]), ""),
        *([("source", _text(packaged.path), "")] if packaged.path != f"{kernel.rpartition('.')[2]}.cu" else []),
        *([("include", _tuple(list(map(_text, packaged.include))), "")] if packaged.include else []),
        ("entry", _text(attributes["entry"]), why.get("function", "")),
        ("arguments", _tuple([_argument(each) for each in attributes["arguments"]]), why.get("arguments", "")),
        ("configs", _Listed("[{", _config(*attributes["configs"]), "}]"), _why_config(inferred)),
    ]
    if rule.shared_bytes == "0" and not rule.cooperative and not rule.cluster and not rule.block:
        rows.append(("grid", f"lambda problem, config: {grid}", why.get("grid", "")))
    else:
        (shared,) = parse_expressions(rule.shared_bytes, "the shared memory")
        more = ", cooperative=True" * rule.cooperative + f", cluster={rule.cluster}" * bool(rule.cluster)
        extents = [python_text(each) for each in parse_expressions(rule.block, "the block")] if rule.block else []
        shape = _tuple(extents) if extents else "config.block"
        text = python_text(_with_block(shared, rule))
        before += _RULE.format(grid=grid, block=shape, shared=text, more=more)
        rows.append(("launch", "launch", why.get("grid", "")))
    for name in _OPTIONAL:
        value = attributes.get(name)
        if value and value != _USUAL.get(name):
            rows.append((name, _value(value), why.get(_WHY.get(name, ""), "")))
    if constraints:
        reason = "small products are wrong at other sizes" if steps else ""
        rows.append(("constraints", _tuple(list(map(_constraint, constraints))), reason))
    body = "".join(_row(*row) for row in rows)
    names = [name for name in _EXPORTED if re.search(rf"\b{name}\b", before + body)]
    names = sorted(["Kernel", "hookimpl", *names], key=lambda each: (each.islower(), each))
    imports = f"from mmcore import {', '.join(names)}"
    if len(imports) > _COLUMNS:
        imports = f"from mmcore import {_Listed('(', names, ')').in_lines('')}"
    math = "import math\n\n" * ("math." in before + body)
    return f'"""{kernel}: {attributes["title"]}."""\n\n{math}{imports}\n\n{before}' + _HOOK.format(body=body)


def _with_block(expression: ast.expr, rule: LaunchText) -> ast.expr:
    """Return an expression with the extents of a block that depends on the sizes in place of their names."""
    extents = (
        dict(zip(EXTENTS, parse_expressions(f"{rule.block}, 1, 1", "the block"), strict=False)) if rule.block else {}
    )

    class Replaced(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return extents.get(name.id, name)

    replaced: ast.expr = Replaced().visit(ast.parse(ast.unparse(expression), mode="eval").body)
    return replaced


def _row(name: str, value: str | _Listed, reason: str) -> str:
    """Return the lines of a field, with the reason for its value above it."""
    begin = f"{_INDENT}# "
    lines = textwrap.wrap(f"{reason[:1].upper()}{reason[1:]}.", _COLUMNS, initial_indent=begin, subsequent_indent=begin)
    line = f"{_INDENT}{name}={value},"
    if isinstance(value, _Listed) and len(line) > _COLUMNS:
        line = f"{_INDENT}{name}={value.in_lines(_INDENT)},"
    return "".join(f"{each}\n" for each in (*(lines if reason else []), line))


def _whole(inferred: Inferred, text: str) -> list[Constraint]:
    """Return the multiples that sizes are where a kernel, its grid, or its loop along k leaves remainders out."""
    attributes = inferred.attributes
    (config,), entry = attributes["configs"], str(attributes["entry"]).partition("<")[0].rpartition("::")[2]
    signature = next((each for each in signatures(text) if each.name == entry), None)
    pairs = zip(signature.parameters, attributes["arguments"], strict=False) if signature is not None else ()
    roles = {each.name: role for each, role in pairs if isinstance(role, str) and role in SIZES}
    if is_unguarded(text, entry, roles, attributes):
        return [*whole_tiles(attributes["launch"], config), *steps_of_k(text, entry, roles, config, unguarded=True)]
    rules = [each.rule for each in attributes["constraints"] if isinstance(each, GridConstraint)]
    tiles = [each for rule in rules for each in whole_tiles(rule, config)]
    return [*tiles, *steps_of_k(text, entry, roles, config, unguarded=False)]


def _constraints(inferred: Inferred, text: str) -> list[Constraint]:
    """Return the constraints of an inferred kernel, and those of whole tiles that its source needs."""
    attributes = inferred.attributes
    several, rule = list[Constraint](), attributes["launch"]
    for constraint in (*attributes["constraints"], *attributes["program_sizes"]):
        several += constraint.multiples if isinstance(constraint, LaunchedIf) else [constraint]
    several += rule.other.multiples if rule.other is not None else ()
    constraints = [each for each in several if not isinstance(each, GridConstraint | PowersOfTwo | AtLeast)]
    return constraints if attributes["program_sizes"] else [*constraints, *_whole(inferred, text)]


def _why_config(inferred: Inferred) -> str:
    """Return the origin of the block, and of each parameter that is a guess."""
    (config,) = inferred.attributes["configs"]
    notes = [note for note in inferred.notes if note.what == BLOCK or (note.guessed and note.what in config)]
    notes.sort(key=lambda note: note.what != BLOCK)
    return "; ".join(f"{note.what}{' is a guess' * note.guessed}: {note.why}" for note in notes)


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(name)}: {_value(each)}' for name, each in value.items())}}}"
    if isinstance(value, tuple):
        return str(_tuple(list(map(_value, value))))
    return _text(value) if isinstance(value, str) else repr(value)


def _tuple(parts: Sequence[str]) -> _Listed:
    return _Listed("(", parts, ",)" if len(parts) == 1 else ")")


def _constraint(constraint: Constraint) -> str:
    if isinstance(constraint, Multiple):
        return f"Multiple({_value(constraint.sizes)}, {_value(constraint.of)})"
    if isinstance(constraint, EqualSizes):
        return f"EqualSizes({_text(constraint.sizes)})"
    return f"{type(constraint).__name__}()"


def _argument(argument: Any) -> str:
    if isinstance(argument, Struct):
        return f"Struct({_tuple(list(map(_argument, argument.members)))})"
    if isinstance(argument, TensorMap):
        others = ", pointer=True" * argument.pointer + f", dtype={_text(argument.dtype)}" * bool(argument.dtype)
        layout = f", layout={_layout(argument.layout)}" if isinstance(argument.layout, EncodedLayout) else ""
        return f"TensorMap({_text(argument.matrix)}, box={argument.box}, swizzle={argument.swizzle}{others}{layout})"
    if isinstance(argument, Workspace):
        return f"Workspace({_text(argument.name)}, content=bytes({argument.nbytes}))"
    if isinstance(argument, Scalar):
        return f"Scalar({_number(argument.value)}, {_text(argument.type)})"
    return _text(argument)


def _number(value: Any) -> str:
    if isinstance(value, SizeRule):
        (expression,) = parse_expressions(value.text, "the argument")
        return f"lambda problem, config: {python_text(expression)}"
    return _text(value) if isinstance(value, str) else repr(value)


def _layout(layout: EncodedLayout) -> str:
    """Return the rule of a tensor map as Python code."""
    both = (parse_expressions(text, "the tensor map") for text in (layout.extents, layout.strides))
    return f"lambda problem, config: {_tuple([str(_tuple(list(map(python_text, each)))) for each in both])}"


def _config(config: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in config.items():
        if isinstance(value, Derived):
            extents = [python_text(each) for each in parse_expressions(value.extents, "the block")]
            words.append(f'"{BLOCK}": lambda config: {_tuple(extents)}')
        else:
            words.append(f'"{name}": {_tuple(list(map(str, value))) if name == BLOCK else repr(value)}')
    return words
