"""The corpus: the kernels of every repository, read from kernels.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from bench.studies.public_kernels.declared import Exactly, PublicKernel, Sizes
from bench.studies.public_kernels.fast_cu import RULES
from mmcore import Config, Kernel, Launch, Multiple, Problem, Scalar, Square, ceil_div
from mmcore.kernel.arguments import Argument
from mmcore.kernel.properties import DeviceProperties


@dataclass(frozen=True)
class LaunchRule:
    """A launch whose grid and shared memory are expressions: "n/64", "2*multiprocessors", "8*block.x*block.x" or 16."""

    grid: tuple[str | int, ...]
    shared: str | int

    def __call__(self, problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        """Return the launch of a problem."""
        names = {**config, "m": problem.m, "n": problem.n, "k": problem.k, "multiprocessors": device.multiprocessors}
        names |= {"block.x": config.block.x, "block.y": config.block.y}
        *grid, shared = (_value(str(expression), names) for expression in (*self.grid, self.shared))
        return Launch(tuple(grid), config.block, shared)


def _value(expression: str, names: Mapping[str, Any]) -> int:
    """Return the value of a product of numbers, names and quotients, which are rounded up."""
    factors = [factor.partition("/") for factor in expression.split("*")]
    values = [[int(names.get(word, word)) for word in (top, bottom or "1")] for top, _, bottom in factors]
    return prod(ceil_div(top, bottom) for top, bottom in values)


def _argument(text: str) -> Argument:
    value, _, dtype = text.partition(":")
    return Scalar(int(value) if value.isdigit() else value, dtype) if dtype else text


def _constraints(row: dict[str, Any]) -> list[Any]:
    """Return a kernel's constraints; sizes that must be multiples of the same number share one."""
    found: list[Any] = [Square()] if row.pop("square", False) else []
    multiples = row.pop("multiples", (1, 1, 1))
    for of in dict.fromkeys(multiples):
        if of != 1:
            found.append(Multiple(tuple(size for size, each in zip("mnk", multiples, strict=True) if each == of), of))
    return [*found, Exactly(*row.pop("exactly"))] if "exactly" in row else found


def _public_kernel(repository: str, prefix: str, row: dict[str, Any]) -> PublicKernel:
    """Return a kernel of a row of the file, with the values that its repository and its group have in common."""
    file, family = row.pop("file"), row.pop("family")
    exactly = [row["exactly"]] if "exactly" in row else []
    sizes = tuple(Sizes(*each) for each in row.pop("sizes", exactly))
    reasons = {name: row.pop(name, "") for name in ("wrong", "unsupported")}
    declared: dict[str, Any] = {"constraints": _constraints(row)}
    declared["name"] = f"{prefix}.{row.pop('name')}"
    declared["configs"] = row.pop("configs", None) or [{"block": row.pop("block")}]
    if "rule" in row:
        declared["launch"] = RULES[row.pop("rule")]
    elif "grid" in row:
        declared["launch"] = LaunchRule(tuple(row.pop("grid")), row.pop("shared", 0))
    if "arguments" in row:
        declared["arguments"] = tuple(map(_argument, row.pop("arguments")))
    row |= {name: tuple(row[name]) for name in ("include", "options", "min_compute_capability") if name in row}
    return PublicKernel(repository, file, family, Kernel(source=Path(file), **declared, **row), sizes, **reasons)


def _read() -> Iterator[PublicKernel]:
    document = tomllib.loads(Path(__file__).with_name("kernels.toml").read_text(encoding="utf-8"))
    for repository in document["repository"]:
        name, prefix, kernels = (repository.pop(key) for key in ("name", "prefix", "kernels"))
        groups = {"": {}, **repository.pop("groups", {})}
        for row in kernels:
            yield _public_kernel(name, prefix, {**repository, **groups[row.pop("like", "")], **row})


KERNELS: dict[str, PublicKernel] = {each.kernel.name: each for each in _read()}
"""Every kernel by its name."""


def __getattr__(name: str) -> Kernel:
    """Return a kernel in its checkout: a cell names it by "module:attribute", for worker processes."""
    if name not in KERNELS:
        raise AttributeError(name)
    return KERNELS[name].located()
