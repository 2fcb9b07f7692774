"""A search for loops along k with a constant number of steps, which are right up to that k alone.

Each element of C needs k multiplications. A kernel that does not multiply more often for a k beyond those that were
tried is wrong there. One block that computes its elements of C alone shows it, so such a product is affordable where
its other blocks are not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from mmcore.cell import Cell
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore_emulator.adapter.examination_report import Tried
from mmcore_emulator.adapter.single_blocks import LARGEST, block_products, largest_matrix
from mmcore_emulator.isa.matrix.products import product_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import MEMORIES, BatchObserver
from mmcore_emulator.ptx.instructions import Block, Instruction

_EXCESS = 1.5  # multiply-adds for each step that k asks for, from which they may not depend on k
_SPREAD = 1.3  # more threads for an element of C share its multiplications


class MultiplyAdds(BatchObserver):
    """An observer that counts the multiply-adds of launches by line; half of the operations, if these are apart."""

    ignores = MEMORIES

    def __init__(self) -> None:
        self.lines: Counter[int] = Counter()
        self._of_block: dict[int, tuple[Block, Counter[int]]] = {}

    def enter(self, block: Block, mask: Mask | None) -> None:
        if id(block) not in self._of_block:
            self._of_block[id(block)] = block, _multiply_adds(block)
        for line, count in self._of_block[id(block)][1].items():
            self.lines[line] += self._lanes(mask) * count // (2 * WARP)

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        self.lines[at.line] += self._lanes(mask) * effect(at).flops // 2

    def _lanes(self, mask: Mask | None) -> int:
        return self._batch.lanes if mask is None else mask.count


@dataclass
class Steps:
    """The multiply-adds for an element of C, and the threads, of the products that were run."""

    kernel: Kernel
    config: Config
    _of: dict[Problem, tuple[float, int, float]] = field(default_factory=dict)

    def add(self, loaded: LoadedKernel, problem: Problem, counted: MultiplyAdds) -> None:
        """Add a product that was run; without a multiplication, or with several launches, nothing follows."""
        if len(loaded.calls) == 1 and (lines := counted.lines).total():
            elements = problem.m * problem.n
            self._of[problem] = lines.total() / elements, lines.most_common(1)[0][0], _threads(loaded) / elements

    def beyond(self) -> Problem | None:
        """Return a product whose k exceeds the least number of multiply-adds for an element.

        There is none if that number is the k of its product, or less than another that was tried: it depends on k.
        """
        if not self._of or self.kernel.algorithm:
            return None
        first = min(self._of, key=lambda problem: self._of[problem][0])
        if self._least < max([_EXCESS * first.k, *(problem.k for problem in self._of)]):
            return None
        k = first.k * (int(self._least) // first.k + 1)
        square = replace(self.kernel, program_sizes=()).square_problem(k, self.config)
        for problem in (self.kernel.problem(first.m, first.n, k), square):
            allowed = problem.k >= k and not self.kernel.violations(problem, self.config)
            if allowed and largest_matrix(problem) <= LARGEST:
                return problem
        return None

    @property
    def _least(self) -> float:
        return min(steps for steps, _, _ in self._of.values())

    @property
    def why(self) -> str:
        """The reason for the product of :meth:`beyond`."""
        steps, line, _ = min(self._of.values())
        return f"more steps along k than the {steps:.0f} multiplications of line {line} for an element of C"

    def tried(self, loaded: LoadedKernel, problem: Problem, cell: Cell, most_work: float) -> Tried | None:
        """Run the first block of :meth:`beyond`; return the product if the block multiplies too seldom for its k.

        Raises TimeLimit, and other errors of a run.
        """
        steps, line, threads = min(self._of.values())
        if len(loaded.calls) != 1 or _threads(loaded) / (problem.m * problem.n) > _SPREAD * threads:
            return None
        counted = MultiplyAdds()
        for part in block_products(loaded, problem, cell.seed or 0, (0,), most_work, (counted,)):
            few = counted.lines.total() / part.c.size <= steps
            if few and part.rows[0] == part.columns[0] == 0 and (fault := part.verified().fault):
                why = f"line {line} multiplies {steps:.0f} times for an element of C at any k; one block was run"
                return Tried(cell, why, mismatch=fault, is_part=True)
        return None


def _threads(loaded: LoadedKernel) -> int:
    return sum(launch.grid_dim.size * launch.block_dim.size for launch in loaded.plan.launches)


def _multiply_adds(block: Block) -> Counter[int]:
    """Return the operations that a warp does in each line of a basic block, without guarded instructions."""
    operations: Counter[int] = Counter()
    for at in block.instructions:
        product = product_of(at)
        flops = product.flops if product else 0 if at.guard else WARP * effect(at).flops
        if flops:
            operations[at.line] += flops
    return operations
