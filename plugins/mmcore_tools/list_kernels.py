"""``mmcore list-kernels``: which kernels there are. It imports neither CUDA nor numpy."""

from __future__ import annotations

import fnmatch
import shutil
import textwrap
from typing import Any

import click

from mmcore.cli.output import json_option, loaded_registry, on_terminal, write, write_json
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.missing_source import lacks_source
from mmcore.kernel.problem import dtype_named
from mmcore.messages import visible
from mmcore.plugin_table import NEW_HINT, Registered


@click.command("list-kernels")
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--reference", metavar="R", help="Only those whose reference has these words in it.")
@click.option("--dtype", metavar="D", help="Only those of an element type, such as float32, or f32 for short.")
@click.option("-q", "--quiet", is_flag=True, help="Print the names alone.")
@json_option
def list_kernels(patterns: tuple[str, ...], quiet: bool, as_json: bool, **filters: str | None) -> int:
    """List the kernels: what each does and what it needs.

    PATTERN is a name, the first part of one (upc), or a pattern with * and ?. On a terminal each kernel has one line,
    and without a pattern each family.
    """
    registered = loaded_registry().kernels
    kernels = _select([each.item for each in registered.values()], patterns, **filters)
    if as_json:
        write_json([summary(registered[kernel.name]) for kernel in kernels])
    elif quiet:
        write("\n".join(kernel.name for kernel in kernels))
    elif on_terminal():
        folded = not patterns and not any(filters.values())
        _page(terminal_lines(kernels, folded=folded, width=shutil.get_terminal_size().columns))
    else:
        write(_rows(kernels))
    return 0


def _select(kernels: list[Kernel], patterns: tuple[str, ...], reference: str | None, dtype: str | None) -> list[Kernel]:
    """Return the kernels that all filters select. If one selects none, raise a MmcoreError with the alternatives."""
    families = ", ".join(dict.fromkeys(map(_family, kernels))) or "no kernels at all"
    for pattern in patterns:
        if not any(_matches(kernel, pattern) for kernel in kernels):
            raise MmcoreError(f"no kernel's name matches {pattern!r}; there are {families}{NEW_HINT}")
    selected = [each for each in kernels if not patterns or any(_matches(each, pattern) for pattern in patterns)]
    if reference is not None:
        words = reference.casefold()
        selected = [each for each in selected if words == _family(each) or words in each.reference.casefold()]
        if not selected:
            raise MmcoreError(f"no kernel's reference has {reference!r} in it; there are {families}")
    if dtype is not None:
        name, dtypes = dtype_named(dtype).name, ", ".join(dict.fromkeys(each.dtype for each in selected))
        selected = [each for each in selected if each.dtype == name]
        if not selected:
            raise MmcoreError(f"none of these kernels takes {name}; they take {dtypes or 'nothing: there are none'}")
    return selected


def _matches(kernel: Kernel, pattern: str) -> bool:
    return fnmatch.fnmatchcase(kernel.name, pattern) or _family(kernel) == pattern.casefold()


def _family(kernel: Kernel) -> str:
    return kernel.name.partition(".")[0]


def summary(registered: Registered[Kernel]) -> dict[str, Any]:
    """Return the entry of a kernel in ``list-kernels --json``."""
    kernel = registered.item
    plain = ("name", "title", "reference", "dtype", "output", "operation", "column_major", "alpha", "beta")
    return {name: getattr(kernel, name) for name in plain} | {
        "blocks": [list(block) for block in dict.fromkeys(config.block for config in kernel.usual_configs)],
        "configs": [config.to_json() for config in kernel.usual_configs],
        "constraints": descriptions(kernel),
        "known_bugs": list(kernel.known_bugs),
        **registered.origin._asdict(),
        "source": str(kernel.source),
    }


def descriptions(kernel: Kernel) -> list[str]:
    """Return a kernel's constraints in words."""
    return [constraint.description for constraint in kernel.constraints]


def configs(kernel: Kernel) -> str:
    """Return a kernel's usual configs on one line: the blocks, and the parameters that are not derived."""
    usual = kernel.usual_configs
    names = [name for name in usual[0] if name not in usual[0].derived and name != "block"]
    if not names:
        return " ".join(dict.fromkeys(str(config.block) for config in usual if "block" in config)) or "a library"
    return ", ".join(" ".join([str(each.block), *(f"{name}={each[name]}" for name in names)]) for each in usual)


def typed_operation(kernel: Kernel) -> str:
    """Return operation and types: "C=AB f32", or "C=AB f16→f32" if C has another type than A and B."""
    return f"{kernel.operation} {kernel.types}".replace("float", "f")


def _cells(kernel: Kernel) -> tuple[str, ...]:
    title, needs = f"{kernel.title} {_marks(kernel)}".rstrip(), "; ".join(descriptions(kernel))
    return kernel.name, title, typed_operation(kernel), configs(kernel), needs


def _marks(kernel: Kernel) -> str:
    return "[known bugs] " * bool(kernel.known_bugs) + "[source missing] " * lacks_source(kernel)


def _rows(kernels: list[Kernel]) -> str:
    """Return one line for each kernel, for grep, without rich, whose import takes as long as mmcore's."""
    rows = [("kernel", "what it does", "operation", "configs", "needs"), *map(_cells, kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _page(lines: list[str]) -> None:
    """Write lines to a terminal, with a pager if they are more than its rows."""
    text = visible("\n".join(lines))
    if len(lines) < shutil.get_terminal_size().lines:
        write(text)
    else:
        click.echo_via_pager(text)


def terminal_lines(kernels: list[Kernel], *, folded: bool, width: int) -> list[str]:
    """Return a line for each kernel, or for each family if ``folded``, none longer than ``width``."""
    families: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        families.setdefault(_family(kernel), []).append(kernel)
    rows = [_folded(family, members) for family, members in families.items()]
    hint = "mmcore list-kernels FAMILY lists its kernels; mmcore show KERNEL describes one."
    if not folded:
        rows = [(kernel.name, _marks(kernel) + kernel.title) for kernel in kernels]
        hint = "mmcore show KERNEL describes one."
    names = max(len(name) for name, _ in rows)
    shortened = [(name, _shortened(text, width - names - 2)) for name, text in rows]
    return [*(f"{name:{names}}  {text}".rstrip() for name, text in shortened), "", *textwrap.wrap(hint, width)]


def _folded(family: str, kernels: list[Kernel]) -> tuple[str, str]:
    """Return the name of a family, and its number of kernels, their types and origin."""
    first, count = kernels[0], f"{len(kernels):3}"
    types = " ".join(dict.fromkeys(each.dtype.replace("float", "f") for each in kernels))
    return family, f"{count} in {types}: {first.reference or first.title}"


def _shortened(text: str, width: int) -> str:
    """Return a text that ends with … after its last whole word if it is longer than ``width``."""
    if len(text) <= width:
        return text
    return f"{text[: width - 1].rpartition(' ')[0].rstrip()} …"
