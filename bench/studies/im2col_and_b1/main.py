"""The comparison: random cases on the GPU and on the emulator."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.studies.im2col_and_b1.card import Card, compiled
from bench.studies.im2col_and_b1.cases import SENTINEL, Bytes, Case, drawn
from bench.studies.im2col_and_b1.kernels import BITS, COPIES, bits_name
from bench.studies.study import write
from mmcore_emulator import LaunchError, TensorMap, launch

LISTED = 20
"""The number of differing cases that are described."""


class Emulator:
    """Runs kernels on the emulator."""

    def __init__(self) -> None:
        self._copies, self._bits = (compiled(source).ptx for source in (COPIES, BITS))

    def copy(self, name: str, case: Case, tensor: NDArray[Any], shared: Bytes) -> bool:
        """Copy by a case's map; ``tensor`` or ``shared`` change in place. Return whether all bytes arrived."""
        status = np.zeros(1, np.uint32)
        arguments = case.operands(), shared, status, tensor_map(case, tensor)
        report = launch(
            self._copies, name, grid=1, block=32, args=arguments, shared_bytes=case.region, check=False, timeout=20
        )
        for hazard in report.hazards:
            print(f"the emulator reports: {hazard}")
        return bool(status[0]) and not report.hazards

    def bits(self, name: str, arrays: tuple[NDArray[Any], ...], strides: NDArray[np.uint32]) -> None:
        """Multiply bits."""
        launch(self._bits, name, grid=1, block=32, args=(*arrays, strides), check=False, timeout=20)


def tensor_map(case: Case, tensor: NDArray[Any]) -> TensorMap:
    """Return the emulator's tensor map of a case."""
    box, steps = (case.pixels, case.channels), case.steps[::-1]
    corners = (case.lower[::-1], case.upper[::-1])
    return TensorMap(tensor, box, case.swizzle, steps, case.kind, case.nan, corners)


@dataclass
class Tally:
    """The numbers of compared and of equal cases of one group, and the first differing ones."""

    cases: int = 0
    equal: int = 0
    differing: list[dict[str, Any]] = field(default_factory=list)

    def count(self, name: str, case: dict[str, Any], emulator: NDArray[Any], card: NDArray[Any], arrived: bool) -> None:
        """Count a case, and describe it if the results differ or not all bytes arrived."""
        self.cases += 1
        if arrived and np.array_equal(emulator, card):
            self.equal += 1
        elif len(self.differing) < LISTED:
            places = np.flatnonzero(emulator != card)[:LISTED]
            bits = {"emulator": emulator.flat[places].tolist(), "card": card.flat[places].tolist()}
            self.differing.append({"name": name, "arrived": arrived, **case, "places": places.tolist(), **bits})
            print(json.dumps(self.differing[-1]), flush=True)


def compare_copy(tally: Tally, runners: tuple[Emulator, Card], case: Case, store: bool) -> None:
    """Run a copy on both, and count it."""
    name, results, arrived = f"{'store' if store else 'load'}{case.rank}", [], True
    for runner in runners:
        tensor = case.tensor()
        shared = case.data() if store else np.full(case.region, SENTINEL, np.uint8)
        arrived &= runner.copy(name, case, tensor, shared)
        results.append(tensor.reshape(-1).view(np.uint8) if store else shared)
    tally.count(name, asdict(case), results[0], results[1], arrived)


def compare_bits(tally: Tally, runners: tuple[Emulator, Card], case: Any) -> None:
    """Run a product of bits on both, and count it."""
    name, (d, *rest), strides = case
    results = [d.copy() for _ in runners]
    emulator, card = runners
    emulator.bits(name, (results[0], *rest), strides)
    card.bits(name, (results[1], *rest), strides)
    tally.count(name, {"strides": strides.tolist()}, results[0], results[1], True)


def bits_cases(random: np.random.Generator) -> Iterator[tuple[str, tuple[NDArray[Any], ...], NDArray[np.uint32]]]:
    """Yield kernels of bits with D, A, B and C, and the strides of A, B and C."""
    words = itertools.product(("xor", "and"), ("row", "col"), ("global", "shared", "generic"))
    for operation, layout, space in itertools.cycle(words):
        a, b = (int(random.integers(1, 5)) for _ in range(2))
        c = 4 * int(random.integers(2, 7))
        left, right = (random.integers(0, 2**32, (8, 4 * each), np.uint32) for each in (a, b))
        if random.integers(4) == 0:
            left, right = left & 0x80000001, ~right & 0x7FFFFFFE
        sums = random.integers(-(2**31), 2**31, (8, c)).astype(np.int32)
        if random.integers(2):
            sums >>= 20
        arrays = np.full((8, c), 7, np.int32), left, right, sums
        yield bits_name(operation, layout, space), arrays, np.array([128 * a, 128 * b, c], np.uint32)


REFUSED: tuple[dict[str, Any], ...] = (
    *({"pixels": 1025}, {"pixels": 0}, {"channels": 260}, {"channels": 6}, {"lower": (-129, 0)}, {"upper": (0, 128)}),
    *({"lower": (3, 0), "upper": (-3, 0)}, {"steps": (1, 9, 1, 1)}, {"steps": (1, 0, 1, 1)}),
    *({"swizzle": 32, "channels": 16}, {"lower": (-128, 127), "upper": (127, 127)}, {"pixels": 1024}),
    *({"channels": 256}, {"steps": (9, 8, 8, 8)}, {"lower": (2, 0), "upper": (-3, 0)}, {"nan": True, "kind": "uint32"}),
)
"""Changes of a map that the driver may refuse."""


def refusals(card: Card) -> list[dict[str, Any]]:
    """Return which changes of a map the driver and the emulator take."""
    plain = Case("float32", (256, 5, 5, 2), 8, 8, (0, 0), (0, 0), (1,) * 4, 0, False, (0,) * 4, (0, 0), 1)
    found = []
    for change in REFUSED:
        case = replace(plain, **change)
        ours = False
        with contextlib.suppress(LaunchError):
            tensor_map(case, case.tensor()).encode(1 << 40)
            ours = True
        found.append({"change": change, "emulator": ours, "driver": card.takes(case)})
    return found


def main(results: Path, *, cases: int = 600, seed: int = 1) -> int:
    """Run so many copies and products of bits, print a summary and write the results."""
    began, card, error = time.monotonic(), Card(), ""
    runners = Emulator(), card
    random = np.random.default_rng(seed)
    groups = {"bits": Tally(), **{f"{what}{rank}": Tally() for what in ("load", "store") for rank in (3, 4, 5)}}
    taken: list[dict[str, Any]] = []
    try:
        for product in itertools.islice(bits_cases(random), cases):
            compare_bits(groups["bits"], runners, product)
        for number in range(cases):
            store, rank = number % 4 == 3, 3 + number // 4 % 3
            case = drawn(random, rank, number, store=store)
            compare_copy(groups[f"{'store' if store else 'load'}{rank}"], runners, case, store)
        taken = refusals(card)
    except RuntimeError as failure:  # the card's context is lost
        error = str(failure)
        print(f"stopped: {error}")
    refused_alike = all(each["driver"] == each["emulator"] for each in taken)
    for name, tally in groups.items():
        print(f"{name}: {tally.equal} of {tally.cases} equal")
    print(*(f"map with {each}" for each in taken), sep="\n")
    agrees = not error and all(each.equal == each.cases > 0 for each in groups.values())
    head = {"device": card.name, "driver": card.driver_version, "seconds": round(time.monotonic() - began, 1)}
    outcome = {"seed": seed, "error": error, "agrees": agrees, "maps refused alike": refused_alike}
    write(results, {**head, **outcome, "groups": {name: vars(each) for name, each in groups.items()}}, maps=taken)
    print(f"{'no bit differs' if agrees else 'DIFFERENT'}; maps refused alike: {refused_alike}")
    return 0 if agrees and refused_alike else 1
