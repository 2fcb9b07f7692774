"""The hooks a plugin can implement. A plugin is a module named by an entry point in the group ``mmcore``.

A plugin can declare hooks of its own with :data:`hookspec`; others implement them as they do these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from click import Command

    from mmcore.cell import FileKernel
    from mmcore.compile.compiler import Compiler
    from mmcore.devices.base import Device, DeviceProvider
    from mmcore.devices.loaded_kernel import LoadedKernel
    from mmcore.devices.violations import Violation
    from mmcore.kernel.declaration import Kernel
    from mmcore.result import Result

hookspec = pluggy.HookspecMarker("mmcore")
hookimpl = pluggy.HookimplMarker("mmcore")


@hookspec
def mmcore_kernels() -> Kernel | Iterable[Kernel]:  # type: ignore[empty-body]
    """Return the kernel, or the kernels, that this plugin adds."""


@hookspec
def mmcore_devices() -> Iterable[DeviceProvider]:  # type: ignore[empty-body]
    """Return the providers of devices that this plugin adds; nothing is searched for or opened yet."""


@hookspec
def mmcore_compilers() -> Iterable[Compiler]:  # type: ignore[empty-body]
    """Return the compilers that this plugin adds; nothing is loaded yet."""


@hookspec
def mmcore_commands() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return click commands by name, each as "module:function", which is imported when the command is called."""


@hookspec
def mmcore_baselines(kernel: Kernel) -> Kernel | None:
    """Return a library's kernel for the same product: its types, layouts and factors; None where it has none."""


@hookspec
def mmcore_tuning() -> Iterable[Path]:  # type: ignore[empty-body]
    """Return folders of tuned configs, a file for each card model, such as ``mmcore tune --output`` writes."""


@hookspec
def mmcore_figures(kernel: LoadedKernel, device: Device) -> Mapping[str, float | None]:  # type: ignore[empty-body]
    """Return further figures of a kernel that was verified, by name: results hold them, and tables show them."""


@hookspec
def mmcore_command(command: Command) -> None:
    """Change a command, anybody's, before it reads its arguments; it may have been changed before."""


@hookspec
def mmcore_hazards(result: Result, kernel: Kernel) -> tuple[str, Sequence[Violation]] | None:
    """Return the place where hazards of a launch were looked for, or why not; and the hazards: the launch is wrong."""


@hookspec(firstresult=True)
def mmcore_kernel_of_file(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel | None:
    """Return the kernel of ``reference["file"]``, of which it says more, under no name that another file has."""


@hookspec(firstresult=True)
def mmcore_other_source(kernel: Kernel, version: str) -> str | None:
    """Return the path of a kernel's source in another version: a folder's, or a revision's."""


@hookspec
def mmcore_hints(result: Result) -> Iterable[str]:  # type: ignore[empty-body]
    """Return what to say of a result before its last line, a sentence each: why a product may be wrong, for one."""
