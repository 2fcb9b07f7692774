"""Parameters that are two sizes of a product, as N is the rows and columns of C where A is N×K and B is K×N."""

from __future__ import annotations

import ast
import contextlib

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference.expressions import names_in
from mmcore_sources.cuda_file.inference.fixed_sizes import limit_of_rows, row_axes
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.limits import names_of_loops
from mmcore_sources.cuda_file.inference.program_sizes import guards
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.size_names import sure_role, usual_role
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strides_of


def shared_parameter(kernel: SourceKernel, roles: Roles) -> tuple[str, str] | None:
    """Return the parameter that is two sizes, and these such as "mn"; None unless the source shows one.

    No parameter or constant has the role of the third size. The source shows this size as the limit of C's rows, as
    their length, or as the length of A's rows and the limit of the loop along them.
    """
    missing = {*"mnk"} - {*roles.sizes.values(), *roles.fixed}
    names = {name for name, role in roles.sizes.items() if role in ("m", "n", "k")}
    if len(missing) != 1 or not names or roles.by_columns or roles.of_blocks or roles.of_squares:
        return None
    (size,) = missing
    name = {"m": _rows, "n": _columns, "k": _depth}[size](kernel, roles, names)
    return (name, "".join(sorted({size, roles.sizes[name]}, key="mnk".index))) if name else None


def _rows(kernel: SourceKernel, roles: Roles, names: set[str]) -> str:
    """Return the size that the rows of C are compared with, or that the grid has along them if no size limits them.

    Empty if the host function of the launch names another number of rows. A name such as ``widthA`` is one size alone:
    a comparison of rows with it is a mistake.
    """
    names = {name for name in names if not sure_role(name, roles.pointers)}
    launch, c, body = kernel.launch, roles.pointers["C"], kernel.body
    passed = _host_names(kernel, names)
    if launch is not None and any(usual_role(each) == "m" for each in {*identifiers(launch.scope)} - passed.keys()):
        return ""
    lengths = strides_of(body, c, {*roles.sizes, *kernel.constants})
    limits = (limit_of_rows(body, c, length, names) for length in lengths)
    if (limit := next(filter(None, limits), "")) or guards(body, names):
        return limit
    axes = {axis for length in lengths for axis in row_axes(kernel, c, kernel.original(length))}
    return passed.get(_only(_sizes_along(kernel, axes, {*passed})), "")


def _host_names(kernel: SourceKernel, names: set[str]) -> dict[str, str]:
    """Return the size that each name of the host function is passed as."""
    arguments = kernel.launch.arguments if kernel.launch is not None else ()
    pairs = zip(kernel.function.parameters, arguments, strict=False)
    return {text_of(argument): parameter.name for parameter, argument in pairs if parameter.name in names}


def _sizes_along(kernel: SourceKernel, axes: set[str], names: set[str]) -> set[str]:
    """Return the names that the launched grid depends on along some axes, among those of the host function."""
    launch = kernel.launch
    if launch is None or not launch.geometry:
        return set()
    reader = Reader.of(kernel.source, launch, {name: ast.Name(name) for name in names if name.isidentifier()})
    with contextlib.suppress(InvalidKernel, ValueError):
        extents = dict(zip("xyz", reader.extents(launch.geometry[0]), strict=False))
        return {name for axis in axes & extents.keys() for name in names_in(extents[axis]) & names}
    return set()


def _columns(kernel: SourceKernel, roles: Roles, names: set[str]) -> str:
    """Return the size that is the length of C's rows; empty unless one is."""
    return _only(strides_of(kernel.body, roles.pointers["C"], names))


def _depth(kernel: SourceKernel, roles: Roles, names: set[str]) -> str:
    """Return the only size that limits loops; if several do, the length of A's rows among them."""
    lengths = strides_of(kernel.body, roles.pointers["A"], {*roles.sizes}) & names
    bounds = names_of_loops(kernel.body) & names
    return _only(bounds) or _only(lengths & (bounds or lengths))


def _only(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""
