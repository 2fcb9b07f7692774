"""The two sides of a comparison, from the words and configs of a command line."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from mmcore.errors import LacksOption, MmcoreError, SeveralKernels, UnknownKernel
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference, is_file
from mmcore.plugins import instance_of
from mmcore.registry import registry
from mmcore_tools.compare.declarations import unlike_declaration

_NEEDS_TWO = (
    "give a second kernel, file or revision (tiled.cu@HEAD), or a config for each side: "
    "--config block=8x8 --config block=16x16"
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        label: the words that name it.
        kernel: the kernel.
        config: the requested parameters by name, the block among them; none for the usual ones.
        declaration: a sentence if the kernel's declaration may not be that of its revision; else empty.
    """

    label: str
    kernel: Kernel
    config: Mapping[str, Any]
    declaration: str = ""


@dataclass(frozen=True)
class _Word:
    """A word of the command line: KERNEL[@REVISION], or FILE[@REVISION][::FUNCTION]."""

    text: str
    kernel: str = ""
    file: str = ""
    revision: str = ""
    function: str = ""

    @classmethod
    def of(cls, text: str) -> _Word:
        if text in registry().kernels:
            return cls(text, text)
        rest, _, function = text.partition("::")
        path, at, revision = rest.partition("@")
        if at and path in registry().kernels:
            return cls(text, path, revision=revision)
        if not at or os.path.exists(rest) or not is_file(path):
            return cls(text, "" if is_file(rest) else text, rest if is_file(rest) else "", "", function)
        return cls(text, "", path, revision, function)

    def reference(self, side: str, facts: Mapping[str, Any]) -> KernelReference:
        """Return the reference of the kernel; a file's has a name that differs between the sides "a" and "b"."""
        if self.kernel and self.revision:
            source = registry().source_revision(registry().kernel(self.kernel), self.revision)
            return {"file": source, "kernel": self.kernel, "name": f"{side}.{self.kernel}"}
        if self.kernel:
            return self.kernel
        stem = re.sub("[^a-z0-9]", "_", Path(self.file).stem.lower())
        path = self.file
        if self.revision:
            # Any kernel with this source will do to find another version of it.
            here = Kernel(name=f"file.{stem}", configs=[{BLOCK: 1}], source=Path(self.file).absolute())
            path = registry().source_revision(here, self.revision)
        entry = {"entry": self.function} if self.function else {}
        return {"file": path, **facts, **entry, "name": f"{side}.{stem}"}


def two_sides(
    words: Sequence[str], configs: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]
) -> tuple[Side, Side]:
    """Return the sides A and B that words, configs and options of a file describe.

    Two words, two configs of one kernel, or a file with two kernels make two sides. One config holds for both.
    Options of a file hold for each side that is one.

    Raises UsageError if there are fewer or more sides, or options of a file and no file; MmcoreError if a kernel cannot
    be read.
    """
    if len(words) > 2 or len(configs) > 2:
        raise click.UsageError("two kernels are compared, each with at most one --config")
    several = [_Word.of(word) for word in words]
    if facts and not any(word.file for word in several):
        option = next(iter(facts)).replace("_", "-")
        raise click.UsageError(f"--{option} is for a .cu file, not for {' and '.join(words)}")
    sides = list[Side]()
    for number, letter in enumerate("ab" if len(words) == 2 or len(configs) == 2 else "a"):
        word, config = several[number % len(words)], configs[number % len(configs)] if configs else {}
        try:
            sides += _sides(word, letter, config, facts)
        except UnknownKernel:
            _refuse_baseline(word, (each for each in several if each is not word), facts)
            raise
    if len(sides) == 1:
        raise click.UsageError(_NEEDS_TWO)
    if len(sides) > 2:
        labels = ", ".join(side.label for side in sides)
        raise click.UsageError(f"two kernels are compared, and there are {labels}; FILE::FUNCTION chooses one")
    first, second = sides
    if len(words) == 1 and len(configs) == 2:
        first, second = (replace(each, label=f"{each.label} {_text(each.config)}") for each in sides)
    return first, second


@contextlib.contextmanager
def errors_labelled(sides: Sequence[Side]) -> Iterator[None]:
    """Name a side in the errors of its kernel by the words that the user typed."""
    try:
        yield
    except MmcoreError as error:
        name, _, reason = str(error).partition(": ")
        label = next((side.label for side in sides if reason and side.kernel.name == name), "")
        error.args = (f"{label}: {reason}",) if label else error.args
        raise


def _sides(word: _Word, letter: str, config: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Side]:
    """Return a side for each kernel that a word names."""
    reference = word.reference(letter, facts)
    launch: dict[str, Any] = {}
    if isinstance(reference, Mapping) and not word.kernel:
        # A file's launch and templates are inferred from its config.
        others = {name: value for name, value in config.items() if name != BLOCK}
        launch = {"configs": (others,)} if others else {}
        launch |= {BLOCK: "x".join(map(str, config[BLOCK]))} if BLOCK in config else {}
        reference = {**reference, **launch}
    try:
        declaration = unlike_declaration(word.kernel, word.revision) if word.kernel and word.revision else ""
        return [Side(word.text, registry().kernel(reference), config, declaration)]
    except SeveralKernels as several:
        return [
            Side(f"{word.text}::{name}", registry().kernel(each), config)
            for name, each in zip(several.names, several.references, strict=True)
        ]
    except LacksOption as error:
        error.options = tuple(each.replace("--block ", "--config block=") for each in error.options)
        raise


def _refuse_baseline(word: _Word, others: Iterable[_Word], facts: Mapping[str, Any]) -> None:
    """Raise UnknownKernel with the command that takes turns with a library, if a word names the baseline of others."""
    for other in others:
        for side in _sides(other, "a", {}, facts):
            offered = registry().answers("mmcore_baselines", instance_of(Kernel), kernel=side.kernel)
            if word.text in [each.name for each in offered]:
                command = shlex.join(["mmcore", "run", other.text, "--baseline", word.text])
                what = "is the library in the types of another kernel, and takes turns with that on a GPU"
                raise UnknownKernel(f"{word.text} {what}:\n  {command}")


def _text(config: Mapping[str, Any]) -> str:
    """Return a config as it is typed: "block=8x8"."""
    values = {name: "x".join(map(str, value)) if name == BLOCK else value for name, value in config.items()}
    return ",".join(f"{name}={value}" for name, value in values.items())
