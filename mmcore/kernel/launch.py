"""What a launch rule returns: one launch of one entry point."""

from __future__ import annotations

from dataclasses import dataclass, field

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, check_argument
from mmcore.kernel.geometry import Dim3, Shape, dim3, native


@dataclass(frozen=True)
class Launch:
    """One launch: its geometry, what it may read past the matrices, and its arguments.

    Attributes:
        grid: blocks along x, y, z (one to three numbers).
        block: threads along x, y, z (one to three numbers).
        shared_bytes: dynamic shared memory of a block, in bytes.
        cluster: blocks of a thread block cluster along x, y, z; None for none.
        over_read: elements past the end of a matrix that the kernel may load but never use, by matrix.
        entry: the kernel function, where it is not the kernel's own ``entry``.
        arguments: its arguments, where they are not the kernel's own ``arguments``.
    """

    grid: Shape
    block: Shape
    shared_bytes: int = 0
    cluster: Shape | None = None
    over_read: dict[str, int] = field(default_factory=dict)
    entry: str | None = None
    arguments: tuple[Argument, ...] | None = None

    def __post_init__(self) -> None:
        for what in ("grid", "block", "cluster"):
            shape = getattr(self, what)
            if isinstance(shape, (tuple, list)) or (what == "cluster" and shape is None):
                continue
            raise InvalidKernel(f"the {what} {shape!r} is not one to three whole numbers, such as (16, 16)")
        object.__setattr__(self, "grid", tuple(map(native, self.grid)))
        object.__setattr__(self, "shared_bytes", native(self.shared_bytes))
        if not 1 <= len(self.grid) <= 3 or not all(type(blocks) is int for blocks in self.grid):
            raise InvalidKernel(f"the grid {tuple(self.grid)} is not one to three whole numbers")
        if type(self.shared_bytes) is not int or self.shared_bytes < 0:
            raise InvalidKernel(f"shared_bytes is a whole number of bytes, not {self.shared_bytes!r}")
        # A grid can come out empty when a rule is forced against its constraints; the planner refuses it in words.
        object.__setattr__(self, "grid", Dim3(*self.grid))
        object.__setattr__(self, "block", dim3(self.block))
        if self.cluster is not None:
            object.__setattr__(self, "cluster", dim3(self.cluster))
        object.__setattr__(self, "over_read", {matrix: native(each) for matrix, each in self.over_read.items()})
        for matrix, elements in self.over_read.items():
            if matrix not in MATRICES or type(elements) is not int or elements < 0:
                raise InvalidKernel(f"an over-read of {elements} elements behind {matrix!r} makes no sense")
        if self.arguments is not None:
            if not isinstance(self.arguments, (tuple, list)):
                raise InvalidKernel(f'a launch\'s arguments are several: ("A", "B"), not {self.arguments!r}')
            object.__setattr__(self, "arguments", tuple(self.arguments))
            for argument in self.arguments:
                check_argument(argument)

    @property
    def grid_dim(self) -> Dim3:
        """The grid as a :class:`Dim3`."""
        return Dim3(*self.grid)

    @property
    def block_dim(self) -> Dim3:
        """The block as a :class:`Dim3`."""
        return Dim3(*self.block)
