"""The bugs of a file's host code, with their lines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mmcore.devices.violations import Violation
from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import dim3
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_sources.cuda_file.host_bugs import copies, cublas, launches, places, timers
from mmcore_sources.cuda_file.host_bugs.allocated_sizes import other_sides
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.coverage import uncovered_by_threads, uncovered_product
from mmcore_sources.cuda_file.host_bugs.exchanged_matrices import exchanged_matrices, unlaunched_kernel
from mmcore_sources.cuda_file.host_bugs.host import HostCode, name_of
from mmcore_sources.cuda_file.host_bugs.leading_dimensions import other_rows
from mmcore_sources.cuda_file.host_bugs.narrow_indexes import narrow_indexes
from mmcore_sources.cuda_file.host_bugs.other_kernels import other_kernels
from mmcore_sources.cuda_file.host_bugs.repeated_sums import repeated_sums
from mmcore_sources.cuda_file.host_bugs.set_variables import set_variables
from mmcore_sources.cuda_file.host_bugs.shared_memory import unaligned_tiles, unraised_limit
from mmcore_sources.cuda_file.host_bugs.short_arrays import short_arrays
from mmcore_sources.cuda_file.host_bugs.unchanging_steps import unchanging_steps
from mmcore_sources.cuda_file.host_bugs.unfilled_inputs import unfilled_inputs
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText, evaluate, parse_expressions
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.map_layouts import encoded_layouts

BUGS: Sequence[Callable[[HostCode], Iterator[Bug]]] = (
    launches.too_many_threads,
    launches.empty_grid,
    launches.exchanged_extents,
    launches.rounded_down_grid,
    launches.other_types,
    launches.exchanged_sizes,
    launches.pitch_in_bytes,
    places.wrong_side,
    places.wrong_address,
    copies.wrong_direction,
    copies.wrong_size,
    copies.other_elements,
    copies.filled_by_bytes,
    timers.unfinished_timing,
    timers.unfinished_event,
    cublas.wrong_leading_dimension,
)


def host_bugs(
    file: str, text: str, inferred: Inferred, given: Mapping[str, Any], others: Iterable[Bug] = ()
) -> tuple[Violation, ...]:
    """Return the bugs of the host code in a file's text, and others, by line.

    The kernel was inferred from it, with the values that the user had ``given``.
    """
    host = HostCode(text)
    entry, arguments = inferred.attributes["entry"].partition("<")[0], inferred.attributes["arguments"]
    launches_of_kernel = sorted(_launches_of(host, entry), key=lambda each: each.line != inferred.line)
    launch = next(iter(launches_of_kernel), None)
    pairs = zip(map(str, arguments), launch.arguments, strict=False) if launch else ()
    matrices = {role: name_of(node) for role, node in pairs if role in ("A", "B", "C")}
    found = [*others, *(_of_matrix(bug, matrices, launch) for bugs in BUGS for bug in bugs(host))]
    if inferred.attributes["launch"].block:  # else it is refused, or the user gives another block
        found = [each._replace(array="C") if each.kind == "too-many-threads" else each for each in found]
    if not inferred.attributes["column_major"]:
        found += cublas.exchanged_operands(host, matrices)
        found += exchanged_matrices(host, launches_of_kernel, arguments)
    found += unraised_limit(host, _shared_bytes(launch, inferred) if launch and "shared" not in given else {})
    found += unlaunched_kernel(host, entry.rpartition("::")[2])
    found += unfilled_inputs(host, launch, matrices) if launch else ()
    found += other_kernels(host, launch, matrices) if launch else ()
    found += set_variables(host, entry.rpartition("::")[2])
    found += other_sides(host, launch, arguments, matrices) if launch and "args" not in given else ()
    found += other_rows(host, launch, arguments, inferred.attributes["column_major"]) if launch else ()
    found += unaligned_tiles(text, arguments)
    found += narrow_indexes(text, entry)
    found += short_arrays(text, entry, inferred.attributes["configs"][0])
    found += unchanging_steps(text, entry)
    found += [Bug(each.kind, each.line, each.fault, file=each.file) for each in encoded_layouts(arguments)]
    reported = {bug.launch or bug.line for bug in found if bug.kind in ("empty-grid", "rounded-down-grid")}
    for each in launches_of_kernel[: 1 if launch and launch.template else None]:  # other instances have other tiles
        found += uncovered_product(host, each, inferred) if each.line not in reported else ()
        found += uncovered_by_threads(host, each, inferred) if "block" not in given else ()
    left_wrong = "C" if host.has_main and _is_allocated(host, matrices.get("C", "")) else ""
    found += [
        Bug("not-zeroed", launch.line, each.lacks, left_wrong) for each in inferred.unusual if each.lacks and launch
    ]
    found += _batch_steps(inferred)
    found += [Bug("refused-launch", each.line, each.reason, "C", file=each.file) for each in inferred.refused]
    if _adds(inferred) and "C" in matrices:
        found += repeated_sums(host, launches_of_kernel, matrices["C"])
    own_lines = {*(each.line for each in launches_of_kernel), *(line for line, _ in inferred.batch_faults)}
    return tuple(
        Violation(
            bug.kind,
            bug.message,
            bug.array if bug.array and (bug.launch or bug.line) in own_lines else None,
            bug.file or file,
            bug.line,
        )
        for bug in sorted(set(found), key=_place)
    )


def _adds(inferred: Inferred) -> bool:
    """Return whether a kernel adds to what C held."""
    zeroed = inferred.attributes.get("initial_c") == "zeros"
    return zeroed or any("beta" in each.given for each in inferred.unusual)


def _is_allocated(host: HostCode, name: str) -> bool:
    """Return whether the program allocates an array by ``cudaMalloc``, which sets no element."""
    calls = (each for each in host.calls if each.name.startswith("cudaMalloc") and each.arguments)
    return bool(name) and any(name_of(each.arguments[0]) == name for each in calls)


def _of_matrix(bug: Bug, matrices: Mapping[str, str], launch: HostLaunch | None) -> Bug:
    """Return a bug that leaves C wrong if the array of a wrong size is a matrix of the launch."""
    if bug.kind != "wrong-size" or launch is None:
        return bug
    return bug._replace(array="C" if bug.array in matrices.values() else "", launch=launch.line)


def translated_bugs(text: str, inferred: Inferred) -> set[Bug]:
    """Return the bugs of the launches in host code that was translated to C++, by line.

    Those whose messages contain an expression of the host are left out.
    """
    host = HostCode(text)
    entry = inferred.attributes["entry"].partition("<")[0]
    found = {*launches.exchanged_sizes(host)}
    if not inferred.attributes["column_major"]:
        found |= {*exchanged_matrices(host, _launches_of(host, entry), inferred.attributes["arguments"])}
    for launch in _launches_of(host, entry):
        found |= {*uncovered_product(host, launch, inferred), *uncovered_by_threads(host, launch, inferred)}
        found |= {Bug("not-zeroed", launch.line, each.lacks) for each in inferred.unusual if each.lacks}
        found |= {*_batch_steps(inferred)}
    return found


def _batch_steps(inferred: Inferred) -> list[Bug]:
    """Return the wrong steps from one product of a batch to the next."""
    return [Bug("batch-step", line, message, "C") for line, message in inferred.batch_faults]


def _launches_of(host: HostCode, entry: str) -> list[HostLaunch]:
    """Return the launches of a kernel in host code, by its name with or without its namespace."""
    return [each for each in host.launches if each.name in (entry, entry.rpartition("::")[2])]


def bugs_of_refused(file: str, text: str, others: Iterable[Bug] = ()) -> tuple[Violation, ...]:
    """Return the bugs of the host code in a file's text from which no kernel can be inferred, and others, by line."""
    host = HostCode(text)
    found = {*others, *(bug for bugs in BUGS for bug in bugs(host))}
    if "__global__" not in text:
        found |= {*cublas.exchanged_operands(host, None)}
    return tuple(Violation(bug.kind, bug.message, source=file, line=bug.line) for bug in sorted(found, key=_place))


def _place(bug: Bug) -> tuple[int, str, str]:
    return bug.line, bug.kind, bug.message


def _shared_bytes(launch: HostLaunch, inferred: Inferred) -> dict[int, int]:
    """Return the dynamic shared memory of the kernel's launch by its line, unless it depends on the sizes."""
    rule: LaunchText = inferred.attributes["launch"]
    values = dict(inferred.attributes["configs"][0])
    block = values.pop("block")
    with contextlib.suppress(InvalidKernel):
        extents = dim3(block(Config({"block": (1, 1, 1), **values})) if callable(block) else block)
        values |= {name: getattr(extents, axis) for name, axis in EXTENTS.items()}
        (shared,) = (evaluate(each, values) for each in parse_expressions(rule.shared_bytes, "the shared memory"))
        return {launch.line: int(shared)}
    return {}
