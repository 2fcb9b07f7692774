"""The hooks that a plugin can implement. A plugin is a module named by an entry point in the group ``mmcore``.

A plugin can declare further hooks with :data:`hookspec`, and other plugins implement them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from click import Option

    from mmcore.compile.compiler import Compiler
    from mmcore.devices.base import Device, DeviceProvider
    from mmcore.devices.loaded_kernel import LoadedKernel
    from mmcore.kernel.configs import Config
    from mmcore.kernel.declaration import Kernel
    from mmcore.kernel.problem import Problem
    from mmcore.kernel.properties import DeviceProperties
    from mmcore.kernel_reference import FileKernel
    from mmcore.planning.kernel_choice import Choice
    from mmcore.result import Result
    from mmcore.verdict import Findings

hookspec = pluggy.HookspecMarker("mmcore")
hookimpl = pluggy.HookimplMarker("mmcore")

FIRST_RESULTS = {
    "mmcore_kernel_of_file": "FileKernel",
    "mmcore_source_revision": "str",
    "mmcore_tuned_config": "Choice",
    "mmcore_best_kernel": "Choice",
}
"""The hooks of which the first answer counts, and its type."""


@hookspec
def mmcore_kernels() -> Kernel | Iterable[Kernel | Callable[[], Kernel]]:  # type: ignore[empty-body]
    """Return the kernel, or the kernels, that this plugin adds.

    A function without arguments that returns a kernel may stand for it. If it raises, the others are still added.
    """


@hookspec
def mmcore_devices() -> Iterable[DeviceProvider]:  # type: ignore[empty-body]
    """Return the providers of devices that this plugin adds. Do not search for or open a device yet."""


@hookspec
def mmcore_compilers() -> Iterable[Compiler]:  # type: ignore[empty-body]
    """Return the compilers that this plugin adds. Do not load them yet."""


@hookspec
def mmcore_commands() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return click commands by name, each as "module:function", which is imported when the command is called."""


@hookspec
def mmcore_baselines(kernel: Kernel) -> Kernel | None:
    """Return a library's kernel for the same product: the same types, layouts and factors. None if there is none."""


@hookspec(firstresult=True)
def mmcore_tuned_config(
    kernel: Kernel, problem: Problem, device: DeviceProperties, fits: Callable[[Config], bool]
) -> Choice | None:
    """Return a tuned config, in which the kernel ``fits``, for a product that names none. None if there is none.

    ``fits`` takes a :class:`~mmcore.kernel.configs.Config`, such as one of ``kernel.usual_configs``.
    """


@hookspec(firstresult=True)
def mmcore_best_kernel(
    problem: Problem, device: DeviceProperties, fits: Callable[[Kernel, Config], bool]
) -> Choice | None:
    """Return a kernel and a config in which it ``fits`` a product of arrays that names none. None if there is none.

    ``fits`` takes a kernel and a :class:`~mmcore.kernel.configs.Config`, such as one of ``kernel.usual_configs``.
    """


@hookspec
def mmcore_figures(kernel: LoadedKernel, device: Device) -> Mapping[str, float | None]:  # type: ignore[empty-body]
    """Return further figures of a verified kernel by name. Results contain them, and tables show them."""


@hookspec
def mmcore_file_options() -> Iterable[Option]:  # type: ignore[empty-body]
    """Return options of commands that describe a kernel in a file; :func:`mmcore_kernel_of_file` gets their values."""


@hookspec
def mmcore_findings(result: Result, kernel: Kernel, extent: str) -> Findings | None:
    """Return the hazards of a measured kernel, and its faults at further sizes. None if there is nothing to say.

    ``extent`` is one of :data:`mmcore.verdict.EXTENTS`.
    """


@hookspec(firstresult=True)
def mmcore_kernel_of_file(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel | None:
    """Return the kernel of the file ``reference["file"]``, under a name that no other file in ``taken`` has."""


@hookspec(firstresult=True)
def mmcore_source_revision(kernel: Kernel, version: str) -> str | None:
    """Return the path of a kernel's source in another version: a folder, or a revision of a repository."""
