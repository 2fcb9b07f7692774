"""Kernels in .cu files that no package declares: ``mmcore run my.cu``.

- ``inference`` declares a kernel from a file's text; ``files`` and ``options`` connect it with the command line.
- ``syntax`` reports the compiler's errors first.
- ``host_bugs`` finds mistakes in the host code, which warnings report.
- ``hints`` tries other readings of a wrong kernel, and ``findings`` the usual reading of a right one, at the sizes of
  ``tried_cells``.
- ``declared_readings`` tries other declarations of a registered kernel: its types, arguments and storage.
  ``declared_repairs`` tries changes of its launches and of its source.
- ``excluded_host_code`` lists the host code that was removed.
- ``package`` writes the declaration as a module. ``revisions`` finds another version of a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    import click

    from mmcore.kernel.declaration import Kernel
    from mmcore.kernel_reference import FileKernel
    from mmcore.result import Result
    from mmcore.verdict import Findings


@hookimpl
def mmcore_kernel_of_file(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel | None:
    """Return the kernel of a .cu file."""
    from mmcore_sources.cuda_file.files import file_kernel

    return file_kernel(reference, taken)


@hookimpl
def mmcore_file_options() -> Iterable[click.Option]:
    """Return ``--entry``, ``--args`` and others."""
    from mmcore_sources.cuda_file.options import file_options

    return file_options()


@hookimpl
def mmcore_findings(result: Result, extent: str) -> Findings | None:
    """Return the verdict for the usual reading of a file, and whether it fixes the sizes."""
    if isinstance(result.cell.kernel, str):
        return None
    from mmcore_sources.cuda_file.findings import findings

    return findings(result, extent)


@hookimpl
def mmcore_notes(kernel: Kernel) -> list[str]:
    """Return the list of the host code that is excluded from a .cu file."""
    from mmcore_sources.cuda_file.excluded_host_code import for_show

    return list(filter(None, [for_show(kernel)])) if kernel.source.suffix == ".cu" else []


@hookimpl
def mmcore_source_revision(kernel: Kernel, version: str) -> str:
    """Return the path of a kernel's source in a folder, or in a revision of its Git repository."""
    from mmcore_sources.cuda_file.revisions import source_revision

    return source_revision(kernel, version)


@hookimpl
def mmcore_hints(result: Result) -> Iterator[str]:
    """Yield the host code that was excluded; other storage, readings and sizes with which the product is right."""
    if result.excluded_host_code:
        from mmcore.registry import registry
        from mmcore_sources.cuda_file.excluded_host_code import in_a_line

        yield in_a_line(registry().kernel(result.cell.kernel).source, result.excluded_host_code)
    if isinstance(result.cell.kernel, str):
        from mmcore_sources.cuda_file.hints.declared_readings import declared_readings

        yield from declared_readings(result)
    else:
        from mmcore_sources.cuda_file.hints.find import hints
        from mmcore_sources.cuda_file.host_bugs.unread_errors import note

        yield from note(result)
        yield from hints(result)
