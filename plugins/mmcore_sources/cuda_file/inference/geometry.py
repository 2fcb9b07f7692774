"""Block and grid of a kernel from its launch in the file."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from mmcore.errors import LacksOption
from mmcore.kernel.arguments import SIZES
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader, compound_name
from mmcore_sources.cuda_file.inference.host_constants import extent_of, host_constant
from mmcore_sources.cuda_file.inference.launch_names import block_names
from mmcore_sources.cuda_file.inference.layout import Layout
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.roles import Roles

MOST_THREADS = 1024
LAUNCHED = "as launched in "
"""The beginning of the origin of a block or grid that a launch has."""
_OF_BLOCK = re.compile(r"block(?!s)|thread", re.IGNORECASE)
_ROWS = {"k": "m", "n": "k"}  # the rows of A and B by their columns
AXIS = {axis: name for name, axis in EXTENTS.items()}


@dataclass(frozen=True)
class Geometry:
    """Expressions for the extents of a block or grid, and their origin."""

    extents: tuple[ast.expr, ...]
    why: str
    guessed: bool = False

    @property
    def text(self) -> str:
        return ", ".join(map(ast.unparse, self.extents))


def launched(
    reader: Reader, launch: HostLaunch, roles: Roles, body: Body, layout: Layout | None, *, sized: bool
) -> tuple[Geometry | None, Geometry | None]:
    """Return block and grid of a launch, each None if it cannot be read.

    The ``reader`` of the launch knows the config's parameters. The layout distinguishes m from n if both have one name.
    With a block that is ``sized``, the same number of blocks fits several sizes.
    """
    order = [each.name for each in body.function.parameters]
    where = f"{LAUNCHED}{launch.place}"
    block = grid = None
    with contextlib.suppress(Unreadable, IndexError):
        block = Geometry(trimmed(reader.extents(launch.geometry[1])), where)
    hosts = host_sizes(launch, roles, order)
    with contextlib.suppress(Unreadable, IndexError):
        extents, taken, extents_of_block = list[ast.expr](), "", block_names(reader, launch)
        of_one_size = sized or _is_block_of_sizes(reader, launch, {*roles.sizes} - {*order})
        for position, axis in enumerate(map(body.axis_of, "xyz")):
            if roles.batch and axis == "z":  # which counts the products of the batch
                extents.append(ast.Constant(1))
                continue
            meant = {name: ast.Name(_role(found, axis, layout)) for name, found in hosts.items()}
            of_axis = replace(reader, names={**extents_of_block, **meant, **reader.names})
            extent = extent_of(of_axis, launch, position)
            wanted, tile = _covered(axis, layout)
            whole = constant(extent) != 1 and not names_in(extent) & set(SIZES)
            # Blocks that know their number may go over all tiles, unless they are as many as a size has tiles.
            bound = "gridDim" not in text_of(body.function.body) or _is_quotient(extent)
            if wanted and whole and bound and not of_one_size:
                name, extent = host_constant(of_axis, launch, position, wanted, body, tiled=bool(tile))
                taken += f"; {name} is taken to be {wanted}"
            extents.append(extent)
        grid = Geometry(trimmed(extents), where + taken)
        alone = block is not None and all(constant(each) == 1 for each in (*block.extents, *grid.extents))
        of_sizes = any(names_in(each) & {*roles.sizes.values(), "m"} for each in grid.extents)
        used = {*words(body.function.body.text or b"")}
        counted = {name for each in grid.extents for name in names_in(each)} & used
        # Blocks that know their number go over all tiles.
        fits = of_sizes or counted or of_one_size or "gridDim" in used or (roles.batch and layout is None)
        if roles.sizes and not fits and not (alone and not BUILT_IN.search(text_of(body.function.body))):
            grid = None  # a grid of numbers fits only one size
    return block, grid


def refuse_exchanged(reader: Reader, launch: HostLaunch) -> None:
    """Raise :class:`LacksOption` if a launch's first extents are those of a block, and its second those of a grid."""
    sizes = {name: ast.Name(name) for each in launch.arguments if each.type == "identifier" for name in [text_of(each)]}
    try:
        first, second = (replace(reader, names={**sizes, **reader.names}).extents(each) for each in launch.geometry[:2])
    except (Unreadable, ValueError):
        return
    with contextlib.suppress(Unreadable):
        own = math.prod(constant(each) or 0 for each in reader.extents(launch.geometry[1]))
        if 1 <= own <= MOST_THREADS and not are_exchanged_by_name(launch):
            return  # a block for the program's own sizes
    numbers = [constant(each) or 0 for each in first]
    blocks = math.prod(constant(each) or 0 for each in second)
    divided = any(isinstance(part, ast.Div | ast.FloorDiv) for each in second for part in ast.walk(each))
    if 1 < math.prod(numbers) <= MOST_THREADS and (blocks > MOST_THREADS or (not blocks and divided)):
        names = " and ".join(text_of(each) for each in launch.geometry[:2])
        first_grid = f"the grid comes first, and a block has at most {MOST_THREADS:,} threads"
        what = f"{launch.place} exchanges grid and block: {first_grid}"
        shape = "x".join(map(str, numbers))
        raise LacksOption(f"{what}, but {names} are {_few(first)} and {_few(second)}", f"--block {shape}")


def are_exchanged_by_name(launch: HostLaunch) -> bool:
    """Return whether a launch passes what is called a block as its grid, and what is called a grid as its block."""
    grid, block = map(text_of, launch.geometry[:2])
    return _OF_BLOCK.search(grid) is not None and "grid" in block.casefold()


def _is_block_of_sizes(reader: Reader, launch: HostLaunch, constants: Set[str]) -> bool:
    """Return whether a launch's block depends on constants that are sizes, so that it is launched for no others."""
    of_sizes = replace(reader, names={name: ast.Name(name) for name in constants})
    try:
        return any(names_in(each) & constants for each in of_sizes.extents(launch.geometry[1]))
    except Unreadable:
        return False


def _is_quotient(extent: ast.expr) -> bool:
    """Return whether an extent of a grid is a number of parts, such as ``ceil(1000 / 16)``."""
    return any(isinstance(each, ast.Div | ast.FloorDiv) for each in ast.walk(extent))


def _few(extents: Sequence[ast.expr]) -> str:
    return "×".join(map(ast.unparse, extents))


def _covered(axis: str, layout: Layout | None) -> tuple[str, Sequence[str]]:
    """Return the size of C that an axis of the grid covers, and the factors of a tile; empty for none, or unknown."""
    if layout is None or layout.flat:
        return "", ()
    sides = {layout.columns: ("n", layout.width), layout.rows: ("m", layout.height)}
    return sides.get(axis, ("", ()))


def along_x(grid: Geometry | None, reader: Reader, launch: HostLaunch) -> Geometry | None:
    """Return a grid without its other axes if the file launches several blocks of threads along x alone."""
    if grid is None or len(grid.extents) == 1 or len(launch.geometry) < 2:
        return grid
    with contextlib.suppress(Unreadable):
        blocks, threads = (reader.extents(each) for each in launch.geometry[:2])
        if len(blocks) == len(threads) == 1 and (constant(blocks[0]) or 0) > 1:
            return Geometry(grid.extents[:1], f"{grid.why}; {launch.place} launches one axis")
    return grid


def unused_axes(reader: Reader, launch: HostLaunch, body: Body) -> Iterator[str]:
    """Yield a warning if the source has an index along an axis that a launch has neither blocks nor threads along."""
    used = {axis for kind, axis in BUILT_IN.findall(text_of(body.function.body)) if kind in ("blockIdx", "threadIdx")}
    with contextlib.suppress(Unreadable):
        given = max(len(reader.extents(each)) for each in launch.geometry[:2])
        if missing := sorted(used & set("xyz"[given:])):
            always = " and ".join(f"blockIdx.{axis} and threadIdx.{axis}" for axis in missing)
            few = "along x alone" if given == 1 else "along x and y alone"
            wanted = f"a grid and a block of {'two' if missing == ['y'] else 'three'} numbers use {missing[-1]}"
            yield f"{launch.place} launches blocks and threads {few}, so that {always} are always 0; {wanted}"


def unread_grid(reader: Reader, launch: HostLaunch, roles: Roles, body: Body, tested: str) -> Iterator[str]:
    """Yield a warning if nothing is known of an extent of a launch's grid, so that ``tested`` takes its place.

    Blocks that know their number may go over all tiles, however many there are.
    """
    if "gridDim" in text_of(body.function.body):
        return
    order = [each.name for each in body.function.parameters]
    pairs = zip(order, launch.arguments, strict=False)
    sizes = (argument for name, argument in pairs if any(each.partition(".")[0] == name for each in roles.sizes))
    several = ({*identifiers(each)} - {"static_cast"} for each in sizes)
    # An argument of several names, as divUp(k, parts), is no name of a size.
    names = host_sizes(launch, roles, order).keys() | {name for each in several if len(each) == 1 for name in each}
    of_sizes = replace(reader, names={name: ast.Name(name) for name in names})
    what = f"the grid of the launch in {launch.place}"
    try:
        for axis, (within, part) in zip("xyz", of_sizes.parts(launch.geometry[0]), strict=False):
            what = f"{text_of(part)} along z of the grid in {launch.place}" if axis == "z" else what
            within.number(part)
    except Unreadable:
        yield f"{what} cannot be read, and is not tested: {tested} is, in its place"


def trimmed(extents: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return the extents without a last one of 1 along z."""
    kept = list(extents)
    while len(kept) > 1 and constant(kept[-1]) == 1:
        kept.pop()
    return tuple(kept)


def host_sizes(launch: HostLaunch, roles: Roles, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the sizes of each name in the host code: the arguments, and the names m and M if m is not passed."""
    sizes: dict[str, list[str]] = {}
    for name, argument in zip(order, launch.arguments, strict=False):
        if name in roles.sizes:
            word = text_of(argument).removeprefix("(int)").removeprefix("this->").strip("() ")
            word = compound_name(word) or word
            sizes.setdefault(word, []).append(roles.sizes[name])
        for member in (each for each in roles.sizes if each.startswith(f"{name}.")):
            owners = (text_of(argument), *(matrix for matrix, pointer in roles.pointers.items() if pointer == name))
            sizes |= {f"{owner}.{member.partition('.')[2]}": [roles.sizes[member]] for owner in owners}
    sizes |= {name: [role] for name, role in roles.sizes.items() if name not in order}  # macros that fix them
    # A matrix whose extents are a dim3 has its rows beside its columns.
    extents = [(word, several[0]) for word, several in sizes.items() if word.endswith(".x") and not roles.square]
    sizes = {**{f"{word[:-1]}y": [_ROWS[role]] for word, role in extents if role in _ROWS}, **sizes}
    passed = {*roles.fixed, *(role for several in sizes.values() for role in several)}
    for role in "mnk":
        for word in (role, role.upper()):
            if role not in passed and word not in sizes and not roles.square:
                sizes[word] = [role]
    return {name: several for name, several in sizes.items() if re.sub("[.*/]", "_", name).isidentifier()}


def sizes_along(
    hosts: Mapping[str, list[str]], axis: str, layout: Layout | None, sides: Mapping[str, str]
) -> dict[str, str]:
    """Return the size that each of the host's names is along an axis of the block.

    ``sides`` contains the axis of the threads that alone cover the rows "m", or the columns "n".
    """
    of_axis = [size for size, along in sides.items() if along == axis]
    usual = [*of_axis, *({"y": "mn"}.get(axis, "nm") if layout is None else "")]
    return {
        name: next((size for size in usual if size in several), _role(several, axis, layout))
        for name, several in hosts.items()
    }


def _role(several: list[str], axis: str, layout: Layout | None) -> str:
    """Return the size of several with one name that an axis of the grid covers: rows or columns of C."""
    if layout is not None and not layout.flat:
        wanted = "m" if layout.rows == axis else "n" if layout.columns == axis else ""
        if wanted in several:
            return wanted
    return next((role for role in ("n", "m") if role in several), several[0])
