"""Files of tuned configs, the user's own and those of plugins, and the order of configs for a product on a card.

If none is tuned on the card, the configs of the most similar card with the same compute capability are used.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmcore.errors import MmcoreError
from mmcore.files import read_text, user_directory
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import say
from mmcore.planning.kernel_choice import Choice
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.model import MODELLED, modelled

SCHEMA = 1
"""The version of a tuning file."""

OWN = "your own"
"""The origin of the user's own configs."""

STRANGE = (2.0,)
"""The unlikeness of a card with another compute capability, or with unknown properties."""

_LARGEST = 1 << 31  # extent of a matrix
_LONGEST = 100  # letters of a card in a file name
_NEAR = 1.0  # a config is used for products that differ from the tuned one by a factor of two in all
_ELSEWHERE = "another card, "
_ALIKE = ("multiprocessors", "shared_bytes_optin", "clock_mhz")  # the properties that make cards similar, in order
PROPERTIES = ("compute_capability", *_ALIKE)
"""The properties of its card that a tuning file contains."""


@dataclass(frozen=True)
class Tuned:
    """The fastest config of a kernel for one product on one card."""

    kernel: str  # its name; then its parameters by name
    config: Mapping[str, Any]
    m: int  # the product that was measured
    n: int
    k: int
    seconds: float  # kernel time
    card: str = ""  # product name of the card, such as "NVIDIA H200"
    origin: str = ""  # :data:`OWN`, or the distribution that the file belongs to
    provenance: Mapping[str, Any] = field(default_factory=dict)  # when and how it was found
    properties: Mapping[str, Any] = field(default_factory=dict)  # the card's, if known

    def on(self, device: DeviceProperties) -> str:
        """Return a reason to take it, such as "tuned for 4096×4096×4096 on another card, NVIDIA H200 (your own)"."""
        card = f"{_ELSEWHERE * (self.card != device.card)}{self.card}"
        return f"tuned for {self.m}×{self.n}×{self.k} on {card} ({self.origin})"

    def rate(self, device: DeviceProperties) -> float:
        """Return the expected FLOP/s on a device, which scale with multiprocessors and clock from another card."""
        rate = 2 * self.m * self.n * self.k / self.seconds
        for name in ("multiprocessors", "clock_mhz") if self.card != device.card and self.properties else ():
            rate *= getattr(device, name) / self.properties[name]
        return rate

    def unlike(self, device: DeviceProperties) -> tuple[float, ...]:
        """Return how much the card differs from a device: least for the same model, :data:`STRANGE` at most."""
        if self.card == device.card:
            return ()
        same = self.properties and tuple(self.properties["compute_capability"]) == device.compute_capability
        return (1.0, *(abs(self.properties[name] - getattr(device, name)) for name in _ALIKE)) if same else STRANGE

    def distance(self, problem: Problem) -> float:
        """Return the distance of a product from the measured one: the factors along m, n and k, in powers of two."""
        pairs = (self.m, problem.m), (self.n, problem.n), (self.k, problem.k)
        return sum(abs(math.log2(measured / asked)) for measured, asked in pairs)

    def far(self, problem: Problem) -> float:
        """Return the distance of a product if it is far from the measured one; 0 if it is near."""
        return distance if (distance := self.distance(problem)) > _NEAR else 0.0


def own_folder() -> Path:
    """Return the folder of the user's own files; raises as :func:`~mmcore.files.user_directory`."""
    return user_directory("MMCORE_TUNING_DIR", "XDG_CONFIG_HOME", ".config", "mmcore/tuning")


def file_of(card: str, folder: Path) -> Path:
    """Return the file of a card model in a folder."""
    return folder / f"{in_file_names(card)}.json"


def in_file_names(card: str) -> str:
    """Return a card model for the names of files: "nvidia-h200", with a digest if that does not identify it."""
    words = re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")[:_LONGEST]
    unique = len(card) <= _LONGEST and re.fullmatch("[A-Za-z0-9 -]+", card)
    return words if unique else f"{words}-{hashlib.sha256(card.encode()).hexdigest()[:8]}".lstrip("-")


def other_card(reason: str) -> str:
    """Return the card that the reason for a config names; empty if that is the device's own, or none."""
    return reason.partition(_ELSEWHERE)[2].rpartition(" (")[0]


def all_tuned() -> list[Tuned]:
    """Return the tuned configs of every card, the user's own first.

    A file that cannot be read is reported on stderr and skipped.
    """
    folders: list[tuple[Path, str]] = []
    with contextlib.suppress(MmcoreError):  # there is no home directory
        folders.append((own_folder(), OWN))
    folders += [(item, origin.distribution) for item, origin in registry().collected("mmcore_tuning", Path)]
    paths = [
        (path, origin) for folder, origin in folders if os.path.isdir(folder) for path in sorted(folder.glob("*.json"))
    ]
    changed = {path: path.stat().st_mtime_ns if path.exists() else 0 for path, _ in paths}
    return [tuned for path, origin in paths for tuned in _entries(path, changed[path], origin)]


@functools.lru_cache(maxsize=64)
def _entries(path: Path, changed: int, origin: str) -> tuple[Tuned, ...]:
    try:
        return tuple(read(path, origin))
    except MmcoreError as error:
        say(f"warning: {error}")
        return ()


def read(path: Path, origin: str) -> Iterator[Tuned]:
    """Yield the entries of a tuning file; raises MmcoreError if it is none."""
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


def tuned_of(kernel: Kernel) -> list[Tuned]:
    """Return the tuned configs of a kernel and of its variants in layout or type."""
    return _by_family().get(_family(kernel), [])


def tuned_configs(kernel: Kernel, problem: Problem, device: DeviceProperties) -> Iterator[Choice]:
    """Yield a kernel's configs, the best first.

    Configs for such a product, tuned on cards of the device's compute capability, come first. Then a model ranks all
    configs. Without a model, configs for other products follow.
    """
    similar = [tuned for tuned in tuned_of(kernel) if tuned.unlike(device) != STRANGE]
    near, far = ([each for each in similar if bool(each.far(problem)) == is_far] for is_far in (False, True))
    yield from (Choice(kernel, config, tuned.on(device)) for config, tuned in _allowed(kernel, problem, device, near))
    others = [*_allowed(kernel, problem, device, far)]
    proven = {config for config, _ in others}
    yield from (Choice(kernel, config, MODELLED) for config in modelled(kernel, problem, device, proven))
    yield from (Choice(kernel, config, tuned.on(device)) for config, tuned in others)


def best_kernels(problem: Problem, device: DeviceProperties) -> Iterator[Choice]:
    """Yield the tuned kernels that compute such a product, the fastest first.

    The first of a kernel's configs, in the order of :func:`tuned_configs`, decides. Rates of different products do not
    compare: kernels that were tuned for another product come later, and those of a card that is not similar last.
    """
    ranked, tuned_by_family = [], _by_family()
    for kernel in (each.item for each in registry().kernels.values()):
        if kernel.computes(problem) and not kernel.known_bugs and _family(kernel) in tuned_by_family:
            allowed = _allowed(kernel, problem, device, tuned_by_family[_family(kernel)])
            ranked += [(first[1], kernel, itertools.chain([first], allowed)) for first in itertools.islice(allowed, 1)]
    ranked.sort(key=lambda each: (each[0].unlike(device) == STRANGE, each[0].far(problem), -each[0].rate(device)))
    for _, kernel, allowed in ranked:
        yield from tuned_configs(kernel, problem, device)
        elsewhere = ((config, tuned) for config, tuned in allowed if tuned.unlike(device) == STRANGE)
        yield from (Choice(kernel, config, tuned.on(device)) for config, tuned in elsewhere)


def _by_family() -> dict[str, list[Tuned]]:
    """Return the tuned configs by the common name of kernels that differ only in layout or type."""
    kernels, families = registry().kernels, dict[str, list[Tuned]]()
    for tuned in all_tuned():
        if tuned.kernel in kernels:
            families.setdefault(_family(kernels[tuned.kernel].item), []).append(tuned)
    return families


def _family(kernel: Kernel) -> str:
    return kernel.variant_of or kernel.name


def _allowed(
    kernel: Kernel, problem: Problem, device: DeviceProperties, several: Sequence[Tuned]
) -> Iterator[tuple[Config, Tuned]]:
    """Yield the configs that the kernel still has and its constraints allow, the best first.

    The kernel's own come first, then those for such a product, of the most similar card, and the user's own.
    """

    def rank(tuned: Tuned) -> tuple[bool, bool, float, tuple[float, ...], bool, float]:
        unlike, distance, far = tuned.unlike(device), tuned.distance(problem), tuned.far(problem)
        return unlike == STRANGE, tuned.kernel != kernel.name, far, unlike, tuned.origin != OWN, distance

    for tuned in sorted(several, key=rank):
        with contextlib.suppress(MmcoreError):
            config = kernel.all_configs.own(**tuned.config)
            if not kernel.violations(problem, config):
                yield config, tuned
