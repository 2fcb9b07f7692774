"""The Python API of why a kernel is fast, slow or wrong: :func:`profile` and :func:`check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import SupportsIndex

from mmcore.api import Block, able_device, requested
from mmcore.api import device as opened
from mmcore_emulator.sanitizer.check import Check, check_kernel
from mmcore_emulator.sanitizer.protocols import CheckingDevice
from mmcore.errors import KernelError, NoDevice
from mmcore.devices.base import Device
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.profiler.counted import CountingDevice
from mmcore_ncu.ncu import profiles_by_ncu
from mmcore_emulator.profiler.profile import Profile, profile_kernel


def profile(
    kernel: str | Kernel,
    size: SupportsIndex | None = None,
    *,
    m: SupportsIndex | None = None,
    n: SupportsIndex | None = None,
    k: SupportsIndex | None = None,
    block: Block = None,
    device: str = "auto",
    seed: int | None = None,
    force: bool = False,
    exact: bool = False,
    ncu: bool = False,
    lda: int = 0,
    ldb: int = 0,
    ldc: int = 0,
    timeout: float | None = None,
) -> Profile:
    """Count what a kernel does: instructions, accesses and what memory makes of them, in all and by line.

    Args:
        kernel, size, m, n, k, block, seed, force, lda, ldb, ldc, timeout: as for :func:`mmcore.run`.
        device: "auto" (the first device that counts), or a device's name.
        exact: run every block, even where a sample of them would do.
        ncu: have NVIDIA's ncu count on a GPU, in a process of its own.

    Raises:
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    asked = requested(kernel, size, m=m, n=n, k=k, block=block, lda=lda, ldb=ldb, ldc=ldc)
    if ncu:
        (counted,) = profiles_by_ncu([asked], opened("cuda" if device == "auto" else device), seed=seed, force=force)
        return counted
    counting = _able(device, CountingDevice, "counts")
    with _limited(counting, timeout, asked[0]):
        return profile_kernel(*asked, counting, seed=seed, force=force, exact=exact)


def check(
    kernel: str | Kernel,
    size: SupportsIndex | None = None,
    *,
    m: SupportsIndex | None = None,
    n: SupportsIndex | None = None,
    k: SupportsIndex | None = None,
    block: Block = None,
    device: str = "auto",
    seed: int | None = None,
    force: bool = False,
    lda: int = 0,
    ldb: int = 0,
    ldc: int = 0,
    timeout: float | None = None,
) -> Check:
    """Look for what a kernel does that it must not: stray or unordered accesses, and barriers that not all come to.

    Args:
        kernel, size, m, n, k, block, seed, force, lda, ldb, ldc, timeout: as for :func:`mmcore.run`.
        device: "auto" (the first device that looks for hazards), or a device's name.

    Raises:
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    asked = requested(kernel, size, m=m, n=n, k=k, block=block, lda=lda, ldb=ldb, ldc=ldc)
    watching = _able(device, CheckingDevice, "looks for hazards in")
    with _limited(watching, timeout, asked[0]):
        return check_kernel(*asked, watching, seed=seed, force=force)


@contextmanager
def _limited(device: Device, timeout: float | None, kernel: Kernel) -> Iterator[None]:
    """Limit the time of what is done inside; a kernel that takes longer is named."""
    try:
        with device.deadline.within(timeout):
            yield
    except KernelError as violation:
        raise KernelError(f"{kernel.name}: {violation}; that is its time limit") from None


def _able(spec: str, protocol: type, verb: str) -> Device:
    """The device asked for; for "auto", the first that does what the protocol asks."""
    found = able_device(protocol) if spec == "auto" else opened(spec)
    if found is None:
        raise NoDevice(f"no device here {verb} what a kernel does; mmcore doctor says what was found")
    return found
