"""Instances of a kernel's template that its program may launch, and that are not run, as ``gemm<32>``."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_sources.cuda_file.inference.launches import launches_of
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.inference.reached_launches import reached
from mmcore_sources.cuda_file.inference.roles import ELEMENTS
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_MOST = 3


def untried_instances(kernel: SourceKernel, named: Collection[HostLaunch]) -> Iterator[str]:
    """Yield a sentence about the launches of other instances; none if the user chooses one.

    ``named`` are launches that a condition on sizes names.
    """
    if kernel.launch is None or "<" in str(kernel.given.get("entry", "")) or _is_chosen(kernel):
        return
    found = dict[str, HostLaunch]()
    for launch in reached(kernel.source, launches_of(kernel.source, kernel.declared)):
        if launch.line not in {each.line for each in named} and _is_other(kernel, launch):
            found.setdefault(f"{launch.name}<{', '.join(launch.template)}>", launch)
    if found:
        shown = [f"{each.place} launches {instance}" for instance, each in found.items()][:_MOST]
        more = [f"{len(found) - _MOST} more are launched"] if len(found) > _MOST else []
        these = "which is" if len(found) == 1 else "which are"
        yield f"{', '.join([*shown, *more])}, {these} not run; --entry '{next(iter(found))}' runs it"


def _is_chosen(kernel: SourceKernel) -> bool:
    """Return whether the user gives a parameter of the template."""
    return any(each.name in kernel.known for each in kernel.declared.template)


def _is_other(kernel: SourceKernel, launch: HostLaunch) -> bool:
    """Return whether a launch's template has a number or a type that the instance to run does not have."""
    for parameter, text in zip(kernel.declared.template, launch.template, strict=False):
        number = value_of(text, kernel.source, launch, kernel.known)
        if number is not None and kernel.values.get(parameter.name, number) != number:
            return True
        element = ELEMENTS.get(kernel.source.types.get(text, text))
        chosen = kernel.chosen.types.get(parameter.name, "")
        if element and ELEMENTS.get(kernel.source.types.get(chosen, chosen), element) != element:
            return True
    return False
