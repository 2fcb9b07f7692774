"""Kernels in .cu files that no package declares: ``mmcore run my.cu``.

- :mod:`~mmcore_source_file.source` finds functions, launches and macros in the file's syntax tree,
  :mod:`~mmcore_source_file.body` what a kernel's indexes tell, :mod:`~mmcore_source_file.host_code` what a launch says.
- :mod:`~mmcore_source_file.inference` makes a declaration of that, by :mod:`~mmcore_source_file.roles` of parameters,
  :mod:`~mmcore_source_file.parameters` of templates and macros, and :mod:`~mmcore_source_file.geometry`.
- :mod:`~mmcore_source_file.expressions` are grids as texts; :mod:`~mmcore_source_file.hints` other readings of a file;
  :mod:`~mmcore_source_file.left_out` tells what of a whole program is no part of the device's half;
  :mod:`~mmcore_source_file.revisions` finds another version of a source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    import click

    from mmcore.cell import FileKernel
    from mmcore.kernel.declaration import Kernel
    from mmcore.result import Result


@hookimpl
def mmcore_kernel_of_file(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel | None:
    """The kernel of a .cu file."""
    from mmcore_source_file.files import file_kernel

    return file_kernel(reference, taken)


@hookimpl
def mmcore_command(command: click.Command) -> None:
    """``--entry``, ``--args`` and others for every command that takes a kernel."""
    for each in command.params:
        if each.name in ("kernel", "model"):
            from mmcore_source_file.options import take_files

            take_files(command, each.name)


@hookimpl
def mmcore_other_source(kernel: Kernel, version: str) -> str:
    """Return the path of a kernel's source in a folder, or in a revision of its Git repository."""
    from mmcore_source_file.revisions import other_source

    return other_source(kernel, version)


@hookimpl
def mmcore_hints(result: Result) -> Iterator[str]:
    """Return what was left out of the source; of a file's kernel, other readings and sizes that were tried."""
    if result.left_out:
        from mmcore.registry import registry
        from mmcore_source_file.left_out import in_a_line

        yield in_a_line(registry().kernel(result.cell.kernel).source, result.left_out)
    if not isinstance(result.cell.kernel, str):
        from mmcore_source_file.hints import hints

        yield from hints(result)
