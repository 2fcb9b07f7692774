"""Compilers: what plugins bring to make machine code and PTX of a kernel's source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import InvalidKernel, described
from mmcore.kernel.declaration import Kernel
from mmcore.messages import say
from mmcore.planning.plan import Plan
from mmcore.registry import registry


class Compiler(Protocol):
    """Makes code of one kind of source; what a plugin's ``mmcore_compilers`` returns."""

    @property
    def name(self) -> str: ...

    def version(self) -> str:
        """Return the compiler's version; empty for one that only returns code from other compilers.

        Raises CompilerMissing, whose text says how to install it, if it is not there.
        """

    def findings(self) -> Mapping[str, str]:
        """Return what the compiler needs and was found on this machine, by name, for ``mmcore doctor``."""

    def takes(self, kernel: Kernel) -> bool:
        """Return whether it compiles that kernel's source."""

    def inputs(self, plan: Plan, architecture: str) -> Mapping[str, Any]:
        """Return the inputs of the code by name: the source's text, options, the state of included files."""

    def compile(self, plan: Plan, architecture: str) -> CompiledModule:
        """Return the code of a plan, from a cache if possible; raises as :func:`compile_plan`."""


def compile_plan(plan: Plan, architecture: str) -> CompiledModule:
    """Compile what a plan launches; nothing where a library is called.

    ``architecture`` is the device's, such as "90"; the kernel's own takes precedence.

    Raises:
        InvalidKernel: the source cannot be read, or no compiler takes it.
        CompileError: the compiler rejects it, and the text holds its log.
        CompilerMissing: the compiler is not installed.
    """
    if plan.kernel.call is not None:
        return CompiledModule(architecture, "", {}, b"", "")
    return compiler_of(plan.kernel).compile(plan, architecture)


def compiler_of(kernel: Kernel) -> Compiler:
    """Return the compiler that takes a kernel's source. Raises :class:`InvalidKernel` if none does."""
    compilers = [each.item for each in registry().compilers.values()]
    for compiler in compilers:
        try:
            if compiler.takes(kernel):
                return compiler
        except Exception as error:  # a third party's
            say(f"warning: the compiler {compiler.name} failed: {described(error)}")
    known = ", ".join(compiler.name for compiler in compilers) or "none"
    raise InvalidKernel(f"{kernel.name}: no compiler takes {kernel.source.name}; there is {known}")
