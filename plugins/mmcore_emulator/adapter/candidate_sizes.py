"""The problem sizes that a kernel's code asks for: the usual ones, and both sides of its comparisons."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.allowed_sizes import FEW, Size, gapped, with_fixed_sides
from mmcore_emulator.adapter.large_sizes import WHOLE_K, are_large, compared_numbers, large_products, numbers_by_axis
from mmcore_emulator.adapter.reached_sides import ReachedSides, is_on_sizes, take_same_sides
from mmcore_emulator.adapter.remainder_sizes import larger_products, remainder_products, remainders
from mmcore_emulator.adapter.single_blocks import are_independent
from mmcore_emulator.adapter.usual_sizes import BLOCKS, UsualSizes
from mmcore_emulator.conditions.expressions import Condition, Special, conditions, leaves
from mmcore_emulator.ptx.instructions import Function

_LARGE = 1 << 16
_MOST_CANDIDATES = 900
_RANDOM = 200  # candidates of random sizes
_MOST_GROUPED = 32  # blocks of a group
_MOST_GROUPS = 2  # numbers of blocks that may be a group's, the largest ones
_MOST_WHOLE = 2048  # the largest number that whole tiles go beyond
_AT_ONCE = 0.25  # products that take this part of the largest run are run in any case
_PER_LINE = 6  # comparisons of a line that are followed
_NARROW = 0.3  # share of the cost that is added for rows, and for columns, of less than a tile: threads exit early
_ROUND = 0.3  # share of the cost that is added for each size that is a multiple of 8: remainders show more
_FAR = 1 << 20  # of sizes that are named, though too large to be tried: so many times too long
_BEYOND_ALL = "beyond all numbers that sizes are compared with"
_OF_SIZE = re.compile(r"\{(?:[mnk]|ld[abc])\}")


@dataclass(frozen=True)
class CodeSizes(UsualSizes):
    """The sizes to try of a kernel in one config."""

    _named: dict[str | None, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Size]:
        """Yield the sizes, the most revealing ones first."""
        yield from (usual := self.usual())
        yield from self._of_conditions([size.problem for size in usual])

    def _entries(self, planned: Plan) -> tuple[str, ...]:
        """Return the functions that a plan launches, in order."""
        for launch in planned.launches:
            if launch.entry not in self._named:
                self._named[launch.entry] = self.kernel.entry_named(launch.entry)
        expand = self.kernel.expand
        return tuple(expand(self._named[each.entry], planned.problem, self.config) for each in planned.launches)

    def _of_conditions(self, tried: Sequence[Problem]) -> Iterator[Size]:
        """Yield sizes on the sides of the comparisons that no tried size has reached."""
        plans = [planned for problem in tried if (planned := self.planned(problem))]
        if not plans:
            return
        entries = self._entries(plans[0])
        if any(_OF_SIZE.search(name) for name in self._named.values()):
            return  # each size has a function of its own, whose comparisons are with that size
        functions = self.functions(plans[0])
        plans = [planned for planned in plans if self._entries(planned) == entries]
        comparisons = [
            (number, condition)
            for number in range(len(entries))
            for condition in _distinct(conditions(functions[entries[number]]))
        ]
        if not comparisons:
            return
        literals = sorted({number for _, condition in comparisons for number in _numbers(condition)})
        chosen = list(range(len(plans)))
        for size in self._groups(condition for _, condition in comparisons):
            yield size
            if (planned := self.planned(size.problem)) is not None and self._entries(planned) == entries:
                chosen.append(len(plans))
                plans.append(planned)
        candidates = self._candidates(plans[0].problem, literals)
        launched = {entries}
        for planned in candidates:
            if (others := self._entries(planned)) == entries:
                plans.append(planned)
            elif others not in launched:
                launched.add(others)
                yield Size(planned.problem, "another function is launched")
        before = len(plans)
        numbers = sorted({number for _, each in comparisons if is_on_sizes(each) for number in _numbers(each)})
        plans += [planned for planned in self._whole_beyond(numbers) if self._entries(planned) == entries]
        whole = range(before, len(plans))
        costs = [self.cost(planned) * self._weight(planned.problem) for planned in plans]
        sides = ReachedSides(comparisons, plans, costs, [functions[entry] for entry in entries])
        for index, reason in sides.cover(chosen, 1):
            yield Size(plans[index].problem, reason)
        for index in whole:
            if sides.is_new(index, chosen):
                chosen.append(index)
                why = "whole tiles beyond a number that sizes are compared with"
                yield Size(plans[index].problem, why, is_due=True)
        of_launches = [functions[entry] for entry in entries]
        yield from self._with_remainders(comparisons, of_launches, [plans[index] for index in chosen])
        for together in (2, 3):
            for index, reason in sides.cover(chosen, together):
                yield Size(plans[index].problem, reason, is_extra=together == 3, joins=True)
        # A plain run may verify the product at sizes that reach the other sides; else the first size is named.
        far = self._candidates(plans[0].problem, literals, _FAR)
        far = [planned for planned in far if self.cost(planned) > self.most]  # the others are among the plans
        plans += [planned for planned in far if self._entries(planned) == entries]
        costs += [self.cost(planned) for planned in plans[len(costs) :]]
        sides = ReachedSides(comparisons, plans, costs, of_launches)
        for index, reason in sides.cover(chosen, 1):
            yield Size(plans[index].problem, reason, is_plain=True)
        yield from self._large(comparisons, of_launches, [plans[index] for index in chosen])

    def _groups(self, compared: Iterable[Condition]) -> Iterator[Size]:
        """Yield products of whole and partial groups of blocks, several along each axis.

        The order of blocks may group as many as the number that the code compares the grid with.
        """
        (rows, columns), numbers = self.tile, dict[int, int]()
        for condition in compared:
            if any(isinstance(leaf, Special) and "nctaid" in leaf.name for leaf in leaves(condition.outcome)):
                numbers |= {number: condition.at.line for number in _numbers(condition) if number <= _MOST_GROUPED}
        for number, line in sorted(numbers.items())[-_MOST_GROUPS:]:
            partial_groups, whole_groups = ((number + 1, 3), (3, number + 1)), ((2 * number, 2), (2, 2 * number))
            for down, along in (*partial_groups, *whole_groups):
                sizes = ((down * rows, along * columns, k) for k in (1, 5, 8, 16, 32, 64))
                for size in self.first(f"line {line} depends on the grid and on {number}", sizes):
                    yield replace(size, is_extra=(down, along) in whole_groups)

    def _with_remainders(
        self, comparisons: Sequence[tuple[int, Condition]], functions: Sequence[Function], tried: Sequence[Plan]
    ) -> Iterator[Size]:
        """Yield products with remainders that take the same sides of comparisons of sizes as some that were tried.

        A path for some sizes, which is right in whole tiles, may forget the ends of tiles.
        """
        on_sizes = [each for each in comparisons if is_on_sizes(each[1])]
        if not on_sizes:
            return
        entries, count = self._entries(tried[0]), len(tried)
        sizes = remainder_products(numbers_by_axis(on_sizes, tried[0], functions, 2), self.tile)
        problems = dict.fromkeys(with_fixed_sides(self.kernel, self.config, *size) for size in sizes)
        found = filter(None, map(self.planned, problems))
        plans = [*tried, *(planned for planned in found if self._entries(planned) == entries)]
        costs = [self.cost(planned) for planned in plans]
        groups = ReachedSides(on_sizes, plans, costs, functions).groups()
        shown = [
            {*itertools.product([group], remainders(plan.problem, self.tile))}
            for group, plan in zip(groups, plans, strict=True)
        ]
        like = dict(zip(reversed(groups[:count]), reversed(tried), strict=True))  # the first product of each group
        missing = set(itertools.product(like, "mnk")).difference(*shown[:count])
        by_blocks = are_independent(tried[0], functions)
        while missing:
            index = max(range(len(plans)), key=lambda index: len(shown[index] & missing) / costs[index])
            if not (new := shown[index] & missing):
                return
            missing -= new
            axes = ", ".join(axis for axis in "mnk" if (groups[index], axis) in new)
            reason = f"remainders of {axes}, with the branches of {like[groups[index]].problem}"
            yield self._in_any_case(Size(plans[index].problem, reason), by_blocks=by_blocks)

    def _in_any_case(self, size: Size, *, by_blocks: bool) -> Size:
        """Return a size with the largest run that it gets in any case: whole, of single blocks or for its product."""
        if self.seconds(size.problem) <= self.most * _AT_ONCE:
            return replace(size, is_due=True)
        if by_blocks:
            return replace(size, why=f"{size.why}; {BLOCKS}", of_blocks=True)
        return replace(size, is_plain=True)

    def _large(
        self, comparisons: Sequence[tuple[int, Condition]], functions: Sequence[Function], tried: Sequence[Plan]
    ) -> Iterator[Size]:
        """Yield products of several tiles on the sides of comparisons with large numbers, up to three at once.

        A path for large products is thus run in whole tiles and with remainders, if only by its first and last block.
        """
        large = [each for each in comparisons if are_large(each[1])]
        if not large:
            return
        (rows, columns), entries = self.tile, self._entries(tried[0])
        sizes = large_products(large, tried[0], functions, self.tile)
        far = filter(None, (self.planned(self.kernel.problem(*size), _FAR) for size in sizes))
        sizes_of = (planned.problem for planned in tried)
        several = [each.m >= rows and each.n >= columns and each.k >= WHOLE_K for each in sizes_of]
        plans = list(itertools.compress(tried, several))
        chosen = list(range(len(plans)))
        plans += (planned for planned in far if self._entries(planned) == entries)
        if len(plans) == len(chosen):
            return
        costs = [min(self.cost(planned), self.seconds_of_blocks(planned.problem)) for planned in plans]
        sides = ReachedSides(large, plans, costs, functions)
        by_blocks = are_independent(tried[0], functions)
        chosen.append(last := len(plans) - 1)
        covered = ((*each, together == 1) for together in (1, 2, 3) for each in sides.cover(chosen, together))
        on_sizes = [each for each in comparisons if is_on_sizes(each[1])]
        for index, reason, joins in itertools.chain([(last, _BEYOND_ALL, False)], covered):
            whole = plans[index].problem
            ends = (self.kernel.problem(*size) for size in larger_products((whole.m, whole.n, whole.k), self.tile))
            rest, *others = (self.planned(problem, _FAR) for problem in ends)
            same = partial(take_same_sides, on_sizes, functions, plans[index])
            similar = None if rest and same(rest) else next((each for each in others if each and same(each)), None)
            for problem in (each.problem for each in (similar, plans[index], rest) if each):
                yield self._in_any_case(Size(problem, reason, joins=joins), by_blocks=by_blocks)

    def _whole_beyond(self, numbers: Sequence[int]) -> list[Plan]:
        """Return allowed products in whole tiles whose sizes are greater than the largest of some numbers.

        A faster path for large products often asks for whole tiles, too.
        """
        beyond = [each + 1 for each in numbers if WHOLE_K <= each <= _MOST_WHOLE]
        if not beyond:
            return []
        rows, columns = self.tile
        m, n, k = (ceil_div(max(beyond), tile) * tile for tile in (rows, columns, WHOLE_K))
        sizes = dict.fromkeys([(rows, columns, k), (m, n, WHOLE_K), (m, n, k)])
        return [*filter(None, (self.planned(self.kernel.problem(*size)) for size in sizes))]

    def _weight(self, problem: Problem) -> float:
        """Return a factor of a product's cost; it is small for products that show more."""
        narrow = sum(size < extent for size, extent in zip((problem.m, problem.n), self.tile, strict=True))
        round_sizes = sum(size % 8 == 0 for size in (problem.m, problem.n, problem.k))
        return 1 + _NARROW * narrow + _ROUND * round_sizes

    def _candidates(self, base: Problem, literals: Sequence[int], slower: float = 1) -> list[Plan]:
        """Return allowed products around the numbers that the code compares with, as :meth:`planned`."""
        planned = partial(self.planned, slower=slower)
        tiles = (1, *self.tile)
        near = [number + step for number in literals for step in (0, 1, -1, 3, number // 2 | 1)]
        scaled = [number * tile + step for number in literals if number <= 256 for tile in tiles[1:] for step in (1, 0)]
        values = [each for each in dict.fromkeys((*near, *scaled, 1, 2, 3, 4, 5, 6, 7, 8)) if 1 <= each <= _LARGE]
        small = [FEW, 8, 16, 64, *tiles[1:]]
        sizes: list[tuple[int, ...]] = []
        for value in values:
            for fixed in ((base.m, base.n, base.k), *((each, each, each) for each in small)):
                m, n, k = fixed
                sizes += [(m, n, value), (m, value, k), (value, n, k)]
            sizes += [(value, value, value), (value, value, FEW), (1, FEW, value), (FEW, 1, value)]
        few = values[:12]
        sizes += [(m, n, k) for m, n in itertools.product(few, repeat=2) for k in (1, 8)]
        rows, columns = self.tile
        sizes += itertools.product((3, rows, rows + 3), (3, columns, columns + 3), (*few, 16, 19, 32, base.k))
        sizes += zip(*(random.Random(axis).choices(values, k=_RANDOM) for axis in "mnk"), strict=True)
        sizes += [(one, other, value) for value in values for one, other in ((1, 1), (1, base.n), (base.m, 1))]
        fitting = (with_fixed_sides(self.kernel, self.config, *size) for size in dict.fromkeys(sizes))
        products = sorted(dict.fromkeys(fitting), key=lambda each: each.m * each.n * each.k)
        made = list(itertools.islice(filter(None, map(planned, products)), _MOST_CANDIDATES))
        # One large size alone, which is not among the smallest products.
        lone = [size for value in values for size in ((1, 1, value), (1, value, 1), (value, 1, 1))]
        known = {each.problem for each in made}
        large = (self.kernel.problem(*size) for size in lone)
        made += filter(None, (planned(problem) for problem in large if problem not in known))
        if self.kernel.strided:
            gaps = [each for each in values if each <= 256][:24]
            padded = [gapped(self.kernel, base, (gap, gap, gap)) for gap in gaps]
            padded += [replace(base, n=base.n - gap, k=base.k - gap) for gap in gaps if gap < min(base.n, base.k)]
            made += filter(None, map(planned, padded))
        squares = (self.kernel.problem(value, value, k) for k in (1, 8, 64) for value in values)
        return made + list(itertools.islice(filter(None, map(planned, squares)), _MOST_CANDIDATES // 4))


def _distinct(found: Iterable[Condition]) -> list[Condition]:
    """Return the conditions, at most a few of each line."""
    by_line: dict[tuple[str, int], list[Condition]] = {}
    for condition in found:
        by_line.setdefault((condition.at.source, condition.at.line), []).append(condition)
    return [condition for several in by_line.values() for condition in several[:_PER_LINE]]


def _numbers(condition: Condition) -> Iterator[int]:
    """Yield the constants of a condition that may be sizes."""
    return (number for number in compared_numbers(condition) if 2 <= number <= _LARGE)
