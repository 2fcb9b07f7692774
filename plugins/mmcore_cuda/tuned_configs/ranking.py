"""The order of tuned configs for a product on a card.

If none is tuned on the card, the configs of the most similar card with the same compute capability are used.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence

from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.choice import Choice
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import OWN, STRANGE, Tuned, all_tuned


def tuned_of(kernel: Kernel) -> list[Tuned]:
    """Return the tuned configs of a kernel and of its variants in layout or type."""
    return _by_family().get(_family(kernel), [])


def tuned_configs(kernel: Kernel, problem: Problem, device: DeviceProperties) -> Iterator[Choice]:
    """Yield a kernel's configs tuned on cards of the device's compute capability, the best first."""
    similar = [tuned for tuned in tuned_of(kernel) if tuned.unlike(device) != STRANGE]
    return (Choice(kernel, config, tuned.on(device)) for config, tuned in _allowed(kernel, problem, device, similar))


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
        yield from (Choice(kernel, config, tuned.on(device)) for config, tuned in allowed)


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
