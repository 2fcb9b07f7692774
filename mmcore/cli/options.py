"""The options for a product and its launches, which several commands share."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS, parse_seconds
from mmcore.errors import InvalidProblem
from mmcore.kernel.configs import BLOCK, Config, parse_config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import three_sizes
from mmcore.kernel.sizes import LARGEST_SIZE, Sizes, parse_size
from mmcore.messages import quoted
from mmcore.registry import registry

USUAL_SIZE = 640  # the lectures' own first example
_Option = Callable[[Any], Any]


def number_type(least: float, most: float = LARGEST_SIZE, kind: type[int] | type[float] = int) -> Callable[[str], Any]:
    """Return the type of an option that takes a number from ``least`` to ``most``; a whole one unless of kind float."""

    def read(text: str) -> Any:
        number = math.nan
        with contextlib.suppress(ValueError):
            number = kind(text) if kind is float or re.fullmatch("-?[0-9]{1,20}", text) else math.nan
        if not least <= number <= most:
            what = "a whole number" if kind is int else "a number"
            raise click.BadParameter(f"{quoted(text)} is not {what} from {least} to {most}")
        return number

    return read


size_type = number_type(1)  # a number of rows, columns or elements, which kernels take as a C int
seed_type = number_type(0, 2**64 - 1)


def sizes_type(text: str) -> Sizes:
    """Return m, n and k of "640" or "64x65x66"."""
    try:
        return parse_size(text)
    except InvalidProblem as error:
        raise click.BadParameter(str(error)) from None


def _with(*options: _Option) -> _Option:
    return lambda command: functools.reduce(lambda made, option: option(made), reversed(options), command)


_BLOCK = "Threads per block; 32 is 32x32 unless the kernel's blocks are flat."
_PARAM = "A parameter of the kernel's config, such as BM=128; comma lists, repeatable."
block_option = click.option("--block", is_eager=True, metavar="BX[xBY]", help=_BLOCK)
config_option = click.option(
    "--config", "configs", is_eager=True, multiple=True, type=parse_config, metavar="NAME=VALUE", help=_PARAM
)


def problem_options(usual: int, untimed: int = 0) -> _Option:
    """Return the options for the product's sizes; the default is ``usual``, or the next size that the kernel allows.

    ``untimed`` is the default where no time is taken, if that is another.
    """
    where = f" ({untimed} on an emulator)" if untimed else ""
    text = f"m = n = k, or MxNxK; {usual}{where}, or the next that the kernel allows, by default."
    return _with(
        click.option("--size", type=sizes_type, is_eager=True, metavar="N", help=text),
        click.option("-m", type=size_type, is_eager=True, metavar="M", help="Rows of A and C."),
        click.option("-n", type=size_type, is_eager=True, metavar="N", help="Columns of B and C."),
        click.option("-k", type=size_type, is_eager=True, metavar="K", help="Columns of A, rows of B."),
    )


def launch_options(usual: int, untimed: int = 0) -> _Option:
    """Return the options for the product and its launch, as :func:`requested_cell` takes them.

    The arguments are those of :func:`problem_options`.
    """
    gap = "Elements between rows (or columns) of {}."
    return _with(
        problem_options(usual, untimed),
        block_option,
        config_option,
        click.option("--seed", type=seed_type, metavar="S", help="Seed of the inputs; fresh by default."),
        click.option("--force", is_flag=True, help="Launch against the kernel's own constraints, to see what happens."),
        *(click.option(f"--ld{x.lower()}", type=size_type, metavar="N", help=gap.format(x)) for x in "ABC"),
    )


def device_option(usual: str = "auto, NAME or NAME:INDEX; mmcore doctor lists the names.") -> _Option:
    """Return the option ``--device``."""
    return click.option(
        "--device", default="auto", metavar="D", show_default=True, help=usual, shell_complete=complete_device
    )


def complete_device(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of devices that begin with a word."""
    return [name for name in ("auto", *registry().providers) if name.startswith(incomplete)]


def timeout_option(what: str) -> _Option:
    """Return the option ``--timeout`` for the time that ``what`` takes."""
    text, usual = f"Seconds that {what} may take.", f"{USUAL_SECONDS:g}"
    return click.option("--timeout", type=parse_seconds, default=usual, metavar="S", show_default=True, help=text)


def requested_sizes(kernel: Kernel, asked: Mapping[str, Any], usual: int, config: Config | None) -> Sizes:
    """Return m, n and k as given; by default the usual size, or the next that the kernel allows."""
    size, m, n, k = (asked.get(name) for name in ("size", "m", "n", "k"))
    if size is m is n is k is None:
        problem = kernel.least_problem(usual, *([config] if config else []))
        size = Sizes(problem.m, problem.n, problem.k)
    sizes = three_sizes(size, m, n, k)
    return size or Sizes(*sizes)


def sized(asked: Mapping[str, Any]) -> bool:
    """Return whether the options name a size."""
    return any(asked.get(name) is not None for name in ("size", *"mnk"))


def requested_config(kernel: Kernel, asked: Mapping[str, Any]) -> Config | None:
    """Return the config as given; None if the first that fits will do."""
    parameters = {name: value for several in asked.get("configs") or () for name, value in several.items()}
    if asked.get("block") is not None:
        parameters[BLOCK] = asked["block"]
    return kernel.config(**parameters) if parameters else None


def requested_cell(kernel: Kernel, device: str, asked: Mapping[str, Any], usual: int, **further: Any) -> Cell:
    """Return the cell that the options describe; m = n = k = ``usual`` by default. Raises MmcoreError."""
    config = requested_config(kernel, asked)
    m, n, k = requested_sizes(kernel, asked, usual, config)
    named = ("lda", "ldb", "ldc", "seed", "force", "timeout", "inputs")
    further |= {name: asked[name] for name in named if asked.get(name) is not None}
    further["config"] = config.to_json() if config else {}
    cell = Cell(registry().reference(kernel), m, n, k, device=device, **further)
    cell.problem(kernel)
    return cell
