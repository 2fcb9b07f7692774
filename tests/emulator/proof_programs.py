"""PTX programs run on elements of the field, without a kernel of mmcore."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmcore.deadline import Deadline
from mmcore_emulator.executor.kernel_launch import KernelLaunch, ModuleMemory, Progress, parameter_bytes
from mmcore_emulator.executor.scheduler import execute
from mmcore_emulator.executor.translation.translate import translate
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.machine.memory.arrays import DeviceMemory
from mmcore_emulator.proof import field
from mmcore_emulator.proof.domain import FieldDomain
from mmcore_emulator.proof.field import PRIMES
from mmcore_emulator.proof.values import Elements
from tests.emulation import dtype_of, function_of, ptx_kernel

OUTPUT = 2048
"""The offset of the results in a program's array; the elements are before it."""
SIZES = {"e4m3": 1, "e5m2": 1, "tf32": 4}
PRIME_NUMBERS = tuple(int(prime) for prime in PRIMES)


@dataclass
class Proved:
    """The elements that a program reads and writes, and what the domain noted."""

    domain: FieldDomain
    given: field.Residues
    made: Elements

    @property
    def reasons(self) -> list[str]:
        """The reasons why it proves nothing."""
        numbers = [*self.domain.paths, *np.unique(self.made.opaque[self.made.opaque != 0]).tolist()]
        return [self.domain.table.reasons[number].text for number in numbers]

    def residues(self, number: int) -> tuple[int, ...]:
        """Return the residues of one result."""
        return tuple(int(each[number]) for each in self.made.residues)

    def magnitudes(self, number: int) -> tuple[int, ...]:
        """Return the residues of one result's magnitude."""
        return tuple(int(each[number]) for each in self.made.magnitudes)


def proved(body: str, kind: str, result: str, count: int, *, block: int = 1, module: str = "") -> Proved:
    """Run a program whose array begins with elements of a type; return ``count`` results of a type."""
    domain = FieldDomain((9, 0))
    memory = DeviceMemory()
    function = function_of(ptx_kernel(body, module=module))
    translation = translate(function, ModuleMemory(memory).addresses(function), (9, 0), domain)
    array = memory.allocate("P", 2 * OUTPUT, 0)
    array.content[: 2 * OUTPUT] = 0
    size = SIZES.get(kind) or dtype_of(kind).itemsize
    places = np.arange(OUTPUT // size) * size
    given = field.random_residues(places.shape, np.random.default_rng(3))
    domain.memory.upload(array, places, domain.table.bytes_of(Elements(given, np.zeros(()), kind)))
    content = parameter_bytes(translation, [array.base.to_bytes(8, "little")])
    geometry = Dim3(1), Dim3(block), 0
    launch = KernelLaunch(translation, *geometry, content, memory, Deadline(), (), Progress(1), 132)
    execute(launch)
    assert not launch.violations, launch.violations
    size = SIZES.get(result) or dtype_of(result).itemsize
    places = OUTPUT + np.arange(count) * size
    values = array.content[OUTPUT : OUTPUT + count * size].view(f"u{size}")
    domain.table.reader = None
    made = domain.table.resolved(domain.memory.download(array, places, size), values, result)
    return Proved(domain, given, made)
