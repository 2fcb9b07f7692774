"""Tuned configs: the config, and the kernel, that was found to be the fastest for a product on a card.

They are read from JSON files, one for each card model: the user's own (:func:`own_folder`), which ``mmcore tune``
writes, and those of the folders that plugins' ``mmcore_tuning`` returns. Where none is tuned for a product on a card,
one that was tuned on the most similar card of the same compute capability is taken.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmcore.cache_directory import user_directory
from mmcore.errors import MmcoreError
from mmcore.files import read_text
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import say
from mmcore.registry import registry

SCHEMA = 1
"""The version of a tuning file."""

_LARGEST = 1 << 31  # extent of a matrix
_LONGEST = 100  # name of a card in a file name
_NEAR = 1.0  # a product that differs by a factor of two in all is one that a config was tuned for
_ELSEWHERE = "another card, "
_ALIKE = ("multiprocessors", "shared_bytes_optin", "clock_mhz")  # what makes cards similar, in this order
PROPERTIES = ("compute_capability", *_ALIKE)  # of its card, in a tuning file
_STRANGE = (2.0,)  # the unlikeness of a card of another compute capability, or of unknown properties


@dataclass(frozen=True)
class Tuned:
    """The fastest config of a kernel for one product on one card.

    Attributes:
        kernel, config: the kernel's name, and its parameters by name.
        m, n, k: the product that it was measured with.
        seconds: kernel time.
        card: product name of the card, such as "NVIDIA H200".
        properties: the card's :data:`PROPERTIES` by name; empty where they are not known.
        origin: "your own" or the distribution that brings it.
        provenance: when, with what, and against how many other configs it was found.
    """

    kernel: str
    config: Mapping[str, Any]
    m: int
    n: int
    k: int
    seconds: float
    card: str = ""
    origin: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)

    def on(self, device: DeviceProperties) -> str:
        """Return "tuned for 4096×4096×4096 on another card, NVIDIA H200 (your own)"."""
        card = f"{_ELSEWHERE * (self.card != device.card)}{self.card}"
        return f"tuned for {self.m}×{self.n}×{self.k} on {card} ({self.origin})"

    def rate(self, device: DeviceProperties) -> float:
        """Return the FLOP/s to expect on a device: those of another card by multiprocessors and clock."""
        rate = 2 * self.m * self.n * self.k / self.seconds
        for name in ("multiprocessors", "clock_mhz") if self.card != device.card and self.properties else ():
            rate *= getattr(device, name) / self.properties[name]
        return rate

    def unlike(self, device: DeviceProperties) -> tuple[float, ...]:
        """Return how little the card is like a device; the least for the same model, the greatest is _STRANGE."""
        if self.card == device.card:
            return ()
        same = self.properties and tuple(self.properties["compute_capability"]) == device.compute_capability
        return (1.0, *(abs(self.properties[name] - getattr(device, name)) for name in _ALIKE)) if same else _STRANGE

    def distance(self, problem: Problem) -> float:
        """How far a product is from the one that was measured: the factors along m, n and k, in powers of two."""
        pairs = (self.m, problem.m), (self.n, problem.n), (self.k, problem.k)
        return sum(abs(math.log2(mine / theirs)) for mine, theirs in pairs)

    def far(self, problem: Problem) -> float:
        """The distance of a product that the config was not tuned for; 0 of one that is near."""
        return distance if (distance := self.distance(problem)) > _NEAR else 0.0


def own_folder() -> Path:
    """Return the folder of the user's own files; raises as :func:`~mmcore.cache_directory.user_directory`."""
    return user_directory("MMCORE_TUNING_DIR", "XDG_CONFIG_HOME", ".config", "mmcore/tuning")


def file_of(card: str, folder: Path) -> Path:
    """The file of a card model in a folder."""
    return folder / f"{in_file_names(card)}.json"


def in_file_names(card: str) -> str:
    """A card model in the names of files and folders: "nvidia-h200"; with a digest of one that is not told by that."""
    words = re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")[:_LONGEST]
    told = len(card) <= _LONGEST and re.fullmatch("[A-Za-z0-9 -]+", card)
    return words if told else f"{words}-{hashlib.sha256(card.encode()).hexdigest()[:8]}".lstrip("-")


def all_tuned() -> list[Tuned]:
    """What is known of every card: the user's own first, then what plugins bring, the first of each name and product.

    A file that cannot be read costs what it holds, and a sentence on stderr.
    """
    found: list[tuple[Path, str]] = []
    with contextlib.suppress(MmcoreError):  # without a home there are none of the user's own
        found.append((own_folder(), "your own"))
    found += [(item, origin.distribution) for item, origin in registry().collected("mmcore_tuning", Path)]
    files = [
        (path, origin) for folder, origin in found if os.path.isdir(folder) for path in sorted(folder.glob("*.json"))
    ]
    changed = {path: path.stat().st_mtime_ns if path.exists() else 0 for path, _ in files}
    return [tuned for path, origin in files for tuned in _entries(path, changed[path], origin)]


@functools.lru_cache(maxsize=64)
def _entries(path: Path, changed: int, origin: str) -> tuple[Tuned, ...]:
    try:
        return tuple(read(path, origin))
    except MmcoreError as error:
        say(f"warning: {error}")
        return ()


def read(path: Path, origin: str) -> Iterator[Tuned]:
    """The entries of a tuning file; MmcoreError where it is none."""
    try:
        document = json.loads(read_text(path))
        if document["schema"] != SCHEMA:
            raise MmcoreError(f"{path} is of version {document['schema']}; this mmcore reads version {SCHEMA}")
        properties = document.get("properties") or {}
        numbers = [properties[name] for name in _ALIKE] + properties["compute_capability"][:1] if properties else []
        if not all(type(each) is int and 0 < each < _LARGEST for each in numbers):
            raise ValueError("the properties of its card are no whole numbers")
        for values in document["tuned"]:
            tuned = Tuned(**values, card=str(document["card"]), origin=origin, properties=properties)
            sizes = all(type(each) is int and 0 < each < _LARGEST for each in (tuned.m, tuned.n, tuned.k))
            timed = type(tuned.seconds) in (int, float) and 0 < tuned.seconds < math.inf
            if not (sizes and timed and isinstance(tuned.kernel, str) and isinstance(tuned.config, Mapping)):
                raise ValueError("an entry has no kernel, sizes, time or config")
            yield tuned
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise MmcoreError(f"the tuning file {path} cannot be read: {reason}") from None


def other_card(origin: str) -> str:
    """Return the card that the origin of a config names; empty if that is the device's own, or none."""
    return origin.partition(_ELSEWHERE)[2].rpartition(" (")[0]


def _ranked(several: Sequence[Tuned], kernel: Kernel, problem: Problem, device: DeviceProperties) -> list[Tuned]:
    """Put the kernel's own first, those for such a product, of the most similar card, and the user's own."""

    def rank(tuned: Tuned) -> tuple[bool, bool, float, tuple[float, ...], bool, float]:
        unlike, distance, far = tuned.unlike(device), tuned.distance(problem), tuned.far(problem)
        return unlike == _STRANGE, tuned.kernel != kernel.name, far, unlike, tuned.origin != "your own", distance

    return sorted(several, key=rank)


def known_of(kernel: Kernel) -> list[Tuned]:
    """What is known of a kernel, or of one that differs from it in layout or type only."""
    return _by_family().get(_family(kernel), [])


def _by_family() -> dict[str, list[Tuned]]:
    """What is known, by the name of the kernel of which others are variants."""
    kernels, found = registry().kernels, dict[str, list[Tuned]]()
    for tuned in all_tuned():
        if tuned.kernel in kernels:
            found.setdefault(_family(kernels[tuned.kernel].item), []).append(tuned)
    return found


def _family(kernel: Kernel) -> str:
    return kernel.variant_of or kernel.name


def tuned_configs(kernel: Kernel, problem: Problem, device: DeviceProperties) -> Iterator[tuple[Config, Tuned]]:
    """Yield a kernel's configs tuned on cards of the device's compute capability, those that fit best first."""
    similar = [tuned for tuned in known_of(kernel) if tuned.unlike(device) != _STRANGE]
    return _allowed(kernel, problem, device, similar)


def _allowed(
    kernel: Kernel, problem: Problem, device: DeviceProperties, several: Sequence[Tuned]
) -> Iterator[tuple[Config, Tuned]]:
    """The configs that their kernel still has, and in which the product may run by its constraints."""
    for tuned in _ranked(several, kernel, problem, device):
        with contextlib.suppress(MmcoreError):
            config = kernel.all_configs.own(**tuned.config)
            if not kernel.violations(problem, config):
                yield config, tuned


@dataclass(frozen=True)
class Choice:
    """The kernel that is taken for a product, its config, and what has shown that it is the fastest."""

    kernel: Kernel
    config: Config
    why: str

    def __str__(self) -> str:
        return f"{self.kernel.name} with {self.config}: {self.why}"


def choices(wanted: Callable[[Kernel], bool], problem: Problem, device: DeviceProperties) -> Iterator[Choice]:
    """Yield the tuned kernels for a product that are ``wanted`` for their types and layouts, the fastest first.

    Each is known by the first of its configs in the order of :func:`tuned_configs`. Rates of different products do not
    compare: kernels that were tuned for another one come later. Those tuned on a card that is not similar come last.
    """
    found, known = [], _by_family()
    for kernel in (each.item for each in registry().kernels.values()):
        if _family(kernel) in known and wanted(kernel):
            allowed = _allowed(kernel, problem, device, known[_family(kernel)])
            found += [(first[1], kernel, itertools.chain([first], allowed)) for first in itertools.islice(allowed, 1)]
    found.sort(key=lambda each: (each[0].unlike(device) == _STRANGE, each[0].far(problem), -each[0].rate(device)))
    for _, kernel, allowed in found:
        yield from (Choice(kernel, config, tuned.on(device)) for config, tuned in allowed)
