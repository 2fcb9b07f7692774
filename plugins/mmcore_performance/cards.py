"""The cards that times are predicted for, with their published rates."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mmcore.planning.peaks import Peaks
from mmcore.result import Result
from mmcore_cuda.peaks import peaks
from mmcore_emulator.isa.architectures import CAPABILITIES


@dataclass(frozen=True)
class Card:
    """The published figures of one card.

    Attributes:
        name: the product's name, "H200".
        capability: compute capability, (major, minor).
        multiprocessors: number of multiprocessors.
        clock_hz: the boost clock.
        dram_bytes_per_second: of device memory.
        cache_bytes: size of the L2 cache.
        sources: addresses of the documents with these figures.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    clock_hz: float
    dram_bytes_per_second: float
    cache_bytes: int
    sources: tuple[str, ...]

    @property
    def peaks(self) -> Peaks | None:
        """The peak rates of the card's units; None if they are unknown."""
        return peaks(
            self.capability,
            multiprocessors=self.multiprocessors,
            clock_hz=self.clock_hz,
            bytes_per_second=self.dram_bytes_per_second,
            cache_bytes=self.cache_bytes,
        )


def card_of(result: Result) -> Card | None:
    """Return the card of a result; for an emulator the first with its compute capability, None if it is unknown."""
    capability = CAPABILITIES.get(result.device)
    for card in cards().values():
        if card.capability == capability if capability else card.name in result.device_description:
            return card
    return None


def emulator_of(card: Card) -> str:
    """Return the name of the emulator of a card's compute capability."""
    return next(name for name, capability in CAPABILITIES.items() if capability == card.capability)


@cache
def cards() -> Mapping[str, Card]:
    """Return the cards of cards.toml by name."""
    rows = tomllib.loads(files(__package__).joinpath("cards.toml").read_text(encoding="utf-8"))
    return {
        name: Card(name, tuple(row.pop("capability")), sources=tuple(row.pop("sources")), **row)
        for name, row in rows.items()
    }
