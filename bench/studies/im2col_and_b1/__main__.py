"""The comparison: random cases on the GPU and on the emulator."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.studies import im2col_and_b1
from bench.studies.im2col_and_b1.card import Card, compiled
from bench.studies.im2col_and_b1.cases import (
    READINGS,
    SENTINEL,
    Bytes,
    Case,
    Reading,
    drawn,
    loaded,
    pixels,
    places,
    stored,
)
from bench.studies.im2col_and_b1.kernels import BITS, COPIES, bits_name
from bench.studies.study import command_line, write
from mmcore_emulator import LaunchError, TensorMap, launch

SECONDS = 100.0
LISTED = 20
"""The number of differing cases that are described."""


class Runner(Protocol):
    """Something that runs a kernel of im2col copies or of bits."""

    def copy(self, name: str, case: Case, tensor: NDArray[Any], shared: Bytes) -> bool:
        """Copy by a case's map; ``tensor`` or ``shared`` change in place. Return whether all bytes arrived."""

    def bits(self, name: str, arrays: tuple[NDArray[Any], ...], strides: NDArray[np.uint32]) -> None:
        """Multiply bits: D, A, B and C."""


class Emulator:
    """Runs kernels on the emulator."""

    def __init__(self) -> None:
        self._copies, self._bits = compiled(COPIES).ptx, compiled(BITS).ptx

    def copy(self, name: str, case: Case, tensor: NDArray[Any], shared: Bytes) -> bool:
        """Copy by a case's map."""
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
    """Results of one group of cases.

    Attributes:
        cases: number of cases that ran on both.
        equal: number of cases without a differing bit.
        readings: number of the card's results that each reading gives bit for bit.
        differing: the first differing cases.
    """

    cases: int = 0
    equal: int = 0
    readings: Counter[str] = field(default_factory=Counter)
    differing: list[dict[str, Any]] = field(default_factory=list)


def ran(runner: Runner, name: str, case: Case, store: bool) -> tuple[Bytes, bool]:
    """Return the memory that a copy writes, and whether all bytes arrived."""
    tensor = case.tensor()
    shared = case.data() if store else np.full(case.region, SENTINEL, np.uint8)
    arrived = runner.copy(name, case, tensor, shared)
    return (tensor.reshape(-1).view(np.uint8) if store else shared), arrived


def compare_copy(tally: Tally, emulator: Runner, card: Runner | None, case: Case, store: bool) -> None:
    """Run a copy on both, or against plain Python, and count it."""
    name, model = f"{'store' if store else 'load'}{case.rank}", stored if store else loaded
    ours, arrived = ran(emulator, name, case, store)
    theirs, landed = ran(card, name, case, store) if card else (model(case, Reading()), True)
    tally.cases += 1
    found = [text for text, reading in READINGS.items() if np.array_equal(modelled(model, case, reading), theirs)]
    tally.readings.update(found)
    if arrived and landed and np.array_equal(ours, theirs):
        tally.equal += 1
    elif len(tally.differing) < LISTED:
        seen = {"name": name, "card arrived": landed, "emulator arrived": arrived, "readings": found}
        seen |= {"case": case.to_json(), "bytes": [] if store else differing_bytes(case, ours, theirs)}
        if store:
            seen["places"] = np.flatnonzero(ours != theirs)[:LISTED].tolist()
        tally.differing.append(seen)
        print(json.dumps(seen), flush=True)


def modelled(model: Callable[[Case, Reading], Bytes], case: Case, reading: Reading) -> Bytes:
    """Return the bytes of a reading; none if it leaves the memory."""
    try:
        return model(case, reading)
    except (IndexError, ValueError):
        return np.zeros(0, np.uint8)


def differing_bytes(case: Case, ours: Bytes, theirs: Bytes) -> list[dict[str, Any]]:
    """Describe the first differing elements of a load: pixel, channel and the bits on both sides."""
    found: list[dict[str, Any]] = []
    for number, pixel in enumerate(pixels(case, Reading())):
        place = places(case, number, Reading())
        one, other = (each[place].view(case.numpy_type) for each in (ours, theirs))
        for channel in np.flatnonzero(one != other)[:2]:
            bits = {"emulator": hex(one[channel]), "card": hex(other[channel])}
            found.append({"pixel": number, "W H D N": pixel, "channel": int(channel) + case.start[0], **bits})
        if len(found) >= 8:
            return found
    return found or [{"stray bytes": np.flatnonzero(ours != theirs)[:8].tolist()}]


def bits_cases(random: np.random.Generator) -> Iterator[tuple[str, tuple[NDArray[Any], ...], NDArray[np.uint32]]]:
    """Yield kernels of bits with D, A, B and C, and the strides of A, B and C."""
    while True:
        for operation in ("xor", "and"):
            for layout in ("row", "col"):
                for space in ("global", "shared", "generic"):
                    a, b = (int(random.integers(1, 5)) for _ in range(2))
                    c = 4 * int(random.integers(2, 7))
                    left, right = (random.integers(0, 2**32, (8, 4 * each), np.uint32) for each in (a, b))
                    if random.integers(4) == 0:
                        left, right = left & 0x80000001, ~right & 0x7FFFFFFE
                    sums = random.integers(-(2**31), 2**31, (8, c)).astype(np.int32)
                    if random.integers(2):
                        sums >>= 20
                    strides = np.array([128 * a, 128 * b, c], np.uint32)
                    arrays = np.full((8, c), 7, np.int32), left, right, sums
                    yield bits_name(operation, layout, space), arrays, strides


def bits_expected(name: str, arrays: tuple[NDArray[Any], ...]) -> NDArray[np.int32]:
    """Return D by numpy."""
    d, a, b, c = arrays
    combined = (np.bitwise_xor if "xor" in name else np.bitwise_and)(a[:, np.newaxis, :4], b[np.newaxis, :, :4])
    counts = np.bitwise_count(combined).sum(-1, dtype=np.int32)
    found: NDArray[np.int32] = d.copy()
    found[:, :8] = c[:, :8] + (counts.T if "col" in name else counts)
    return found


def compare_bits(tally: Tally, emulator: Runner, card: Runner | None, case: Any) -> None:
    """Run a product of bits on both, or against numpy, and count it."""
    name, arrays, strides = case
    expected, results = bits_expected(name, arrays), []
    for runner in (emulator, card):
        d = arrays[0].copy()
        if runner:
            runner.bits(name, (d, *arrays[1:]), strides)
        results.append(d if runner else expected)
    ours, theirs = results
    tally.cases += 1
    tally.readings["numpy"] += np.array_equal(theirs, expected)
    if np.array_equal(ours, theirs):
        tally.equal += 1
    elif len(tally.differing) < LISTED:
        seen = {"name": name, "strides": strides.tolist()}
        seen |= {"places": np.argwhere(ours != theirs)[:8].tolist(), "emulator": ours.tolist(), "card": theirs.tolist()}
        tally.differing.append(seen)
        print(json.dumps(seen), flush=True)


REFUSED: tuple[dict[str, Any], ...] = (
    {"pixels": 1025},
    {"pixels": 0},
    {"channels": 260},
    {"channels": 6},
    {"lower": (-129, 0)},
    {"upper": (0, 128)},
    {"lower": (3, 0), "upper": (-3, 0)},
    {"steps": (1, 9, 1, 1)},
    {"steps": (1, 0, 1, 1)},
    {"swizzle": 32, "channels": 16},
    {"lower": (-128, 127), "upper": (127, 127)},
    {"pixels": 1024},
    {"channels": 256},
    {"steps": (9, 8, 8, 8)},
    {"lower": (2, 0), "upper": (-3, 0)},
    {"nan": True, "kind": "uint32"},
)
"""Changes of a map that the driver may refuse."""


def refusals(card: Card | None) -> list[dict[str, Any]]:
    """Return which changes of a map the driver and the emulator take."""
    plain = Case("float32", (256, 5, 5, 2), 8, 8, (0, 0), (0, 0), (1,) * 4, 0, False, (0,) * 4, (0, 0), 1)
    found = []
    for change in REFUSED:
        case = replace(plain, **change)
        try:
            tensor_map(case, case.tensor()).encode(1 << 40)
            ours = True
        except LaunchError:
            ours = False
        found.append({"change": change, "emulator": ours, "driver": card.takes(case) if card else None})
    return found


def main() -> int:
    """Run everything, print a summary and write the results."""
    parser = command_line("im2col_and_b1", im2col_and_b1.__doc__)
    parser.add_argument("--emulator-only", action="store_true", help="compare the emulator with plain Python")
    parser.add_argument("--cases", type=int, default=600, help="copies at most; products of bits are as many")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began, emulator = time.monotonic(), Emulator()
    card = None if asked.emulator_only else Card()
    random = np.random.default_rng(asked.seed)
    groups = {"bits": Tally(), **{f"{what}{rank}": Tally() for what in ("load", "store") for rank in (3, 4, 5)}}
    error = ""
    try:
        for product in itertools.islice(bits_cases(random), asked.cases):
            if time.monotonic() - began > 0.3 * SECONDS:
                break
            compare_bits(groups["bits"], emulator, card, product)
        for number in range(asked.cases):
            if time.monotonic() - began > SECONDS:
                break
            store, rank = number % 4 == 3, 3 + number // 4 % 3
            case = drawn(random, rank, number, store=store)
            compare_copy(groups[f"{'store' if store else 'load'}{rank}"], emulator, card, case, store)
    except RuntimeError as failure:  # the card's context is lost
        error = str(failure)
        print(f"stopped: {error}")
    taken = refusals(card if not error else None)
    refused_alike = all(each["driver"] in (None, each["emulator"]) for each in taken)
    for name, tally in groups.items():
        print(f"{name}: {tally.equal} of {tally.cases} equal; readings: {dict(tally.readings)}")
    for each in taken:
        print(f"map with {each['change']}: emulator {each['emulator']}, driver {each['driver']}")
    agrees = not error and all(each.equal == each.cases > 0 for each in groups.values())
    results = {
        "device": card.name if card else "plain Python",
        "driver": card.driver_version if card else None,
        "seconds": round(time.monotonic() - began, 1),
        "seed": asked.seed,
        "error": error,
        "agrees": agrees,
        "maps refused alike": refused_alike,
        "groups": {name: vars(tally) for name, tally in groups.items()},
        "maps": taken,
    }
    write(asked.results, results)
    print(f"{'no bit differs' if agrees else 'DIFFERENT'}; maps refused alike: {refused_alike}; {results['seconds']} s")
    return 0 if agrees and refused_alike else 1


if __name__ == "__main__":
    sys.exit(main())
