"""Another instance of a kernel's template that the host code launches at other sizes, as ``gemm<false>``."""

from __future__ import annotations

from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText, OtherInstance, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.launch_conditions import LaunchCondition
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel


def other_instance(
    kernel: SourceKernel, entry: str, condition: LaunchCondition, rule: LaunchText
) -> OtherInstance | None:
    """Return the instance that is launched where a condition does not hold.

    None if that launch differs in more than the numbers of the template. ``entry`` names the kernel's instance.
    """
    launch = kernel.launch
    if launch is None or len(condition.others) != 1:
        return None
    (other,) = condition.others
    if launch.name != other.name or len(launch.template) != len(other.template):
        return None
    for nodes, others in ((launch.geometry, other.geometry), (launch.arguments, other.arguments)):
        if list(map(text_of, nodes)) != list(map(text_of, others)):
            return None
    for parameter, ours, theirs in zip(kernel.declared.template, launch.template, other.template, strict=False):
        if ours == theirs:
            continue
        number, name = value_of(theirs, kernel.source, other, kernel.known), f"{{{parameter.name}}}"
        if number is None or name not in entry or parameter.name in _names(rule):
            return None
        entry = entry.replace(name, str(number))
    return OtherInstance(condition.multiples, entry)


def _names(rule: LaunchText) -> set[str]:
    """Return the names in the expressions of a launch rule."""
    texts = ((rule.grid, "the grid"), (rule.shared_bytes, "the shared memory"))
    return {name for text, what in texts for each in parse_expressions(text, what) for name in names_in(each)}
