"""NVRTC, CUDA's run-time compiler, as a compiler of mmcore: CUDA C++ to machine code and PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mmcore.compile.compiled_module import CompiledModule
    from mmcore.compile.compiler import Compiler
    from mmcore.kernel.declaration import Kernel
    from mmcore.planning.plan import Plan


class Nvrtc:
    """The compiler of CUDA C++."""

    name = "nvrtc"

    def version(self) -> str:
        from mmcore_cuda.nvrtc.bindings import nvrtc_version

        return ".".join(map(str, nvrtc_version()))

    def findings(self) -> Mapping[str, str]:
        from mmcore_cuda.nvrtc.cuda_headers import cuda_headers

        return cuda_headers().findings()

    def takes(self, kernel: Kernel) -> bool:
        return kernel.build is None and kernel.source.suffix not in (".ptx", ".cubin")

    def inputs(self, plan: Plan, architecture: str) -> dict[str, Any]:
        from mmcore_cuda.nvrtc.plan_compilation import compile_inputs

        return compile_inputs(plan, architecture)

    def compile(self, plan: Plan, architecture: str) -> CompiledModule:
        from mmcore_cuda.nvrtc.plan_compilation import compile_plan

        return compile_plan(plan, architecture)


@hookimpl
def mmcore_compilers() -> list[Compiler]:
    """Return NVRTC."""
    return [Nvrtc()]
