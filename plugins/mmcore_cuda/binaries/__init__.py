"""Compiled code as a compiler of mmcore: kernels with ``build=``, and .ptx and .cubin files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.compile.compiled_module import CompiledModule
    from mmcore.compile.compiler import Compiler
    from mmcore.kernel.declaration import Kernel
    from mmcore.planning.plan import Plan


class Binaries:
    """The reader of what a launch needs to know about compiled code."""

    name = "binaries"

    def version(self) -> str:
        return ""

    def findings(self) -> dict[str, str]:
        return {}

    def takes(self, kernel: Kernel) -> bool:
        return kernel.is_code

    def inputs(self, plan: Plan, architecture: str) -> dict[str, Any]:
        from mmcore_cuda.binaries.compiler import compile_inputs

        return compile_inputs(plan, architecture)

    def compile(self, plan: Plan, architecture: str) -> CompiledModule:
        from mmcore_cuda.binaries.compiler import compile_plan

        return compile_plan(plan, architecture)


@hookimpl
def mmcore_compilers() -> list[Compiler]:
    """Return the reader of compiled code."""
    return [Binaries()]
