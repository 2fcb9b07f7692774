"""The type of an argument that names a kernel, and the options that describe a kernel in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mmcore.errors import SeveralKernels
from mmcore.kernel.problem import three_sizes
from mmcore.kernel_reference import KernelReference, is_file
from mmcore.messages import say
from mmcore.plugins import instance_of
from mmcore.registry import registry

_FACTS = "mmcore.file_facts"  # in a context's meta: values by option's name
_LAUNCH = ("block", "configs")  # options of the launch, from which a file's launch is inferred
_SIZES = ("size", "m", "n", "k")


class KernelParam(click.ParamType):  # type: ignore[type-arg]
    """A registered kernel's name, or a file's path, which becomes a reference with the facts that options give.

    FILE::FUNCTION is a file with the option ``--entry FUNCTION``.

    The facts that are inferred from the file are written to stderr, unless the command has ``--quiet``.
    """

    name = "kernel"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names of kernels that begin with a word; without any, let the shell complete a path."""
        names = [CompletionItem(name) for name in registry().kernels if name.startswith(incomplete)]
        return names or [CompletionItem(incomplete, type="file")]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> KernelReference:
        """Return the reference of a kernel. Raises MmcoreError if the file cannot be read as one."""
        if not isinstance(value, str) or ctx is None or ctx.resilient_parsing:
            reference: KernelReference = value
            return reference
        path, _, function = value.partition("::")
        if not is_file(path) or value in registry().kernels:
            refuse_file_options(f"{value} is declared by a package")
            return value
        if function:
            _keep_entry(ctx, function)
        launch = {name: ctx.params[name] for name in _LAUNCH if _is_given(ctx, name)}
        facts = {"file": path, **ctx.meta.get(_FACTS, {}), **launch}
        size, m, n, k = (ctx.params[name] if _is_given(ctx, name) else None for name in _SIZES)
        if not size is m is n is k is None:
            facts["sizes"] = size or three_sizes(size, m, n, k)
        inferred = registry().files[registry().kernel(facts).name].inferred
        if not ctx.params.get("quiet"):
            say(inferred)
        return facts


class KernelsParam(KernelParam):
    """A name or path as for :class:`KernelParam`, which becomes a tuple of references.

    A file with several kernels becomes a reference to each that may be a matrix product.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the references. Raises MmcoreError if a file cannot be read."""
        try:
            return (super().convert(value, param, ctx),)
        except SeveralKernels as several:
            if several.others and ctx is not None and not ctx.params.get("quiet"):
                say(f"skipped, as they are no matrix products that the file launches: {', '.join(several.others)}\n")
            return several.references


def given_file_facts() -> Mapping[str, Any]:
    """Return the values of the options that describe a kernel in a file, as far as they are given."""
    facts: Mapping[str, Any] = click.get_current_context().meta.get(_FACTS, {})
    return facts


def refuse_file_options(reason: str) -> None:
    """Raise UsageError, which gives the reason, if an option describes a kernel in a file."""
    for name in given_file_facts():
        raise click.UsageError(f"--{name.replace('_', '-')} is for a .cu file, and {reason}")


def add_file_options(command: click.Command) -> None:
    """Add plugins' options for kernels in files to a command that takes a kernel and does not have them yet."""
    if not any(isinstance(param.type, KernelParam) for param in command.params):
        return
    for options in registry().answers("mmcore_file_options", lambda answer: [*map(instance_of(click.Option), answer)]):
        known = {param.name for param in command.params}
        for option in options:
            if option.name not in known:
                # Eager options are read before the kernel, wherever they are on the command line.
                option.is_eager, option.expose_value, option.callback = True, False, _keep
                command.params.append(option)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    if _is_given(context, str(option.name)):
        context.meta.setdefault(_FACTS, {})[option.name] = value


def _keep_entry(context: click.Context, function: str) -> None:
    """Note the function of FILE::FUNCTION as the entry point. Raises UsageError if --entry names another one."""
    facts = context.meta.setdefault(_FACTS, {})
    if facts.setdefault("entry", function) != function:
        raise click.UsageError(f"the argument names {function}, and --entry {facts['entry']}")
