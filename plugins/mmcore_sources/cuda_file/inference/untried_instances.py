"""Instances of a kernel's template that its program may launch, and that are not run, as ``gemm<32>``."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_sources.cuda_file.inference.class_arguments import class_argument
from mmcore_sources.cuda_file.inference.class_types import enumerators, type_name
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launches import launches_of
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.inference.reached_launches import by_calls, reached
from mmcore_sources.cuda_file.inference.roles import ELEMENTS
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_MOST = 3


def untried_instances(kernel: SourceKernel, named: Collection[HostLaunch]) -> Iterator[str]:
    """Yield a sentence about the launches of other instances; none if the user gives a parameter of the template.

    ``named`` are launches that a condition on sizes names.
    """
    if kernel.launch is None or _is_given(kernel):
        return
    found = dict[str, HostLaunch]()
    known = list[str]()
    for launch in by_calls(kernel.source, launches_of(kernel.source, kernel.declared)):
        if launch.line not in {each.line for each in named} and _is_other(kernel, launch):
            arguments = [*_arguments(kernel, launch)]
            written = (argument or text for argument, text in zip(arguments, launch.template, strict=False))
            instance = f"{launch.name}<{', '.join(written)}>"
            found.setdefault(instance, launch)
            known += [instance] if all(arguments) else []
    if found:
        pairs = list(found.items())[:_MOST]
        places = {each.place: [instance for instance, other in pairs if other.place == each.place] for _, each in pairs}
        shown = [f"{place} launches {' and '.join(instances)}" for place, instances in places.items()]
        more = [f"{len(found) - _MOST} more are launched"] if len(found) > _MOST else []
        these = "which is" if len(found) == 1 else "which are"
        hint = f"; --entry '{known[0]}' runs it" if known else ""
        yield f"{', '.join([*shown, *more])}, {these} not run{hint}"


def instance_launches(kernel: SourceKernel) -> list[HostLaunch]:
    """Return the launch of a kernel, and those of the same instance that its program reaches elsewhere."""
    if kernel.launch is None:
        return []
    several = reached(kernel.source, launches_of(kernel.source, kernel.declared))
    others = (each for each in several if _is_elsewhere(each, kernel.launch) and not _is_other(kernel, each))
    return [kernel.launch, *others]


def _is_elsewhere(launch: HostLaunch, other: HostLaunch) -> bool:
    """Return whether a launch is in another line than another one, or has another call where both have one."""
    return launch.line != other.line or (None not in (launch.call, other.call) and launch.call != other.call)


def _is_given(kernel: SourceKernel) -> bool:
    """Return whether the user gives a parameter of the template."""
    return any(each.name in kernel.known for each in kernel.declared.template)


def _arguments(kernel: SourceKernel, launch: HostLaunch) -> Iterator[str]:
    """Yield the numbers and types in a launch's template; "" for one that only its host function knows."""
    reader = Reader.of(kernel.source, launch, {})
    for parameter, text in zip(kernel.declared.template, launch.template, strict=False):
        number = value_of(text, kernel.source, launch, kernel.known)
        constants = enumerators(reader, parameter.type)
        if word := next((name for name, each in constants.items() if number == each), ""):
            yield f"{type_name(reader, parameter.type)}::{word}"
        elif number is not None:
            yield str(bool(number)).lower() if parameter.type == "bool" else str(number)
        else:
            yield text if kernel.source.types.get(text, text) in ELEMENTS else type_name(reader, text)


def _is_other(kernel: SourceKernel, launch: HostLaunch) -> bool:
    """Return whether a launch's template has a number or a type that the instance to run does not have."""
    for parameter, text in zip(kernel.declared.template, launch.template, strict=False):
        number = value_of(text, kernel.source, launch, kernel.known)
        if number is not None and kernel.values.get(parameter.name, number) != number:
            return True
        class_ = class_argument(kernel.source, launch, text)
        if class_ and kernel.chosen.classes.get(parameter.name, class_) != class_:
            return True
        element = ELEMENTS.get(kernel.source.types.get(text, text))
        chosen = kernel.chosen.types.get(parameter.name, "")
        if element and ELEMENTS.get(kernel.source.types.get(chosen, chosen), element) != element:
            return True
    return False
