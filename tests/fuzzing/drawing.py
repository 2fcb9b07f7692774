"""Random cases that are the same for the same seed and number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from mmcore import Dim3, Problem
from tests.fuzzing.damage import DAMAGES, GAP
from tests.fuzzing.subjects import MOST_THREADS, Rule, Subject

PLAIN, FORCED = "plain", "forced"
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 127)
_STAMPS = 3000


@dataclass(frozen=True)
class Extent:
    """The size of the cases on a device.

    Attributes:
        largest: the approximate limit of rows and columns.
        work: the limit of m·n·k.
    """

    largest: int
    work: int


EXTENTS = {"emulator": Extent(80, 300_000), "cuda": Extent(280, 20_000_000)}


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        subject: the kernel and its rule.
        problem: the product.
        block: threads per block.
        seed: seed of the inputs.
        kind: "plain", "forced" (against the constraints), or a kind of damage.
    """

    subject: Subject
    problem: Problem
    block: Dim3
    seed: int
    kind: str


def draw_case(seed: int, number: int, subjects: Mapping[str, Subject], extent: Extent) -> Case:
    """Return case ``number`` of a seed.

    Forced cases have the size for the emulator, which runs them first.
    """
    rng = random.Random(f"{seed}/{number}")
    subject = subjects[rng.choice(sorted(subjects))]
    damages = sorted(name for name in DAMAGES if subject.kernel.strided or name != GAP)
    kind = rng.choices((PLAIN, FORCED, rng.choice(damages)), (50, 20, 30))[0]
    if kind == FORCED:
        extent = EXTENTS["emulator"]
    fitting = {PLAIN: 0.6, FORCED: 0.2}.get(kind, 1.0)
    while True:
        block = _block(rng, subject, fitting)
        problem = _problem(rng, subject, block, extent, fitting)
        refused = kind != FORCED and bool(subject.rule.breaches(problem, block))
        if refused or _affordable(subject.rule, problem, block, extent):
            return Case(subject, problem, block, rng.getrandbits(32), kind)


def _affordable(rule: Rule, problem: Problem, block: Dim3, extent: Extent) -> bool:
    stamps = (problem.m // block.y + 1) * (problem.n // block.x + 1) if rule.stamped else 1
    return problem.m * problem.n * problem.k <= extent.work and stamps * problem.k <= _STAMPS


def _block(rng: random.Random, subject: Subject, fitting: float) -> Dim3:
    """Return a declared block, one that the source is written for, or any."""
    if rng.random() < 0.4:
        return rng.choice(subject.kernel.usual_configs).block
    if rng.random() < (1 + fitting) / 2:
        x = rng.randint(1, 32)
        shapes = (Dim3(x, rng.randint(1, MOST_THREADS // x)), Dim3(x, x), Dim3(16, 16), Dim3(32, 32))
        return next(shape for shape in shapes if subject.rule.block(shape))
    shapes = (
        Dim3(rng.randint(1, 40), rng.randint(1, 40)),
        Dim3(rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 4)),
        Dim3(rng.choice((32, 64, 100, 256, 1024, 1025))),
        Dim3(1, rng.choice((32, 100, 1024))),
    )
    return rng.choice(shapes)


def _problem(rng: random.Random, subject: Subject, block: Dim3, extent: Extent, fitting: float) -> Problem:
    m, n, k = _sizes(rng, block, extent.largest)
    if rng.random() < fitting:
        m, n, k = (-(-size // step) * step for size, step in zip((m, n, k), subject.rule.steps(block), strict=True))
        if subject.rule.one_size:
            m = n = k = rng.choice((m, n, k))
    elif rng.random() < 0.05:
        m, n, k = _too_large(rng)
    of_a, of_b, of_c = (matrix in subject.kernel.column_major for matrix in "ABC")
    lengths = (m if of_a else k, k if of_b else n, m if of_c else n)
    lda, ldb, ldc = (length + rng.choice((0, 0, 1, 3, 16)) for length in lengths)
    return subject.kernel.problem(m, n, k, lda=lda, ldb=ldb, ldc=ldc)


def _sizes(rng: random.Random, block: Dim3, largest: int) -> tuple[int, int, int]:
    """Return three sizes that are equal, different, or one long and two short."""
    shape = rng.random()
    if shape < 0.3:
        size = _size(rng, block.x, largest)
        return size, size, size
    if shape < 0.5:
        return _shuffled(rng, rng.randint(1, 4), rng.randint(1, 4), rng.randint(largest, 4 * largest))
    return _size(rng, block.y, largest), _size(rng, block.x, largest), _size(rng, block.x, largest)


def _size(rng: random.Random, tile: int, largest: int) -> int:
    """Return 1, a prime, a multiple of a tile, a neighbour of one, or any number."""
    multiple = tile * rng.randint(1, max(1, largest // tile))
    return rng.choice(
        (1, rng.choice(_PRIMES), multiple, multiple, multiple + 1, max(1, multiple - 1), rng.randint(1, largest))
    )


def _too_large(rng: random.Random) -> tuple[int, int, int]:
    """Return sizes whose products exceed an int."""
    return _shuffled(rng, rng.randrange(65536, 2**20), rng.choice((65536, 131072)), rng.choice((1, 64, 65536, 2**30)))


def _shuffled(rng: random.Random, *sizes: int) -> tuple[int, int, int]:
    shuffled = list(sizes)
    rng.shuffle(shuffled)
    m, n, k = shuffled
    return m, n, k
