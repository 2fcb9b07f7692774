"""Random commands: each has an answer, or one sentence and exit status 2."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import mmcore as library
from mmcore.errors import InvalidBlock, InvalidProblem, MmcoreError, NoDevice
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import dim3
from tests.command_line import mmcore

LONG = "9" * 5000
NUMBERS = ("1", "7", "32", "0", "-1", "", "1e3", "2147483648", LONG, "٣", "²", "0x10", "1_0", "+5", " 5")
SIZES = (*NUMBERS, "8x9x7", "8x9", "8x", "x", "8×9×7", f"8x{LONG}x8", "1x1x1x1")
BLOCKS = (
    *["32", "16", "32x8", "0", "x", "32x", "1x1x1x1", "32×8", "٣", "²x1", "1x1x65", "-1", "1.5", ""],
    *(LONG, f"{LONG}x1"),
)
CONFIGS = (
    *["TILE=16", "block=8x8", "block=16,TILE=16", "TILE", "TILE=", "=16", "TILE=x", "block=0", "BM=8"],
    *(f"TILE={LONG}", ""),
)
KERNELS = (
    *["upc.kernel11", "hpsee.tiled", "poznan.v5", "upc", "UPC.KERNEL11", "*", "../x", "upc.kernel11\n", "\0", "", LONG],
)
DEVICES = (
    *["emulator", "emulator:0", "emulator:00", "emulator:1", "emulator:²", "cuda:99", ":", "auto:0"],
    *(f"emulator:{LONG}", ""),
)
CAPABILITIES = ("9.0", "7.5", "1.2", "99.9", "x", "", "9", "9.00", "٩.0", LONG)


def some_command(rng: random.Random) -> list[str]:
    """Return a command with options that may be nonsense, and that never needs much work."""

    def one_of(values: tuple[str, ...]) -> str:
        """Draw a value, usually one of the first three, which make sense."""
        return rng.choice(values[:3] if rng.random() < 0.7 else values)

    def options(*choices: tuple[str, tuple[str, ...]]) -> list[str]:
        return [word for name, values in choices if rng.random() < 0.4 for word in (name, one_of(values))]

    command = rng.choice(("run", "check", "profile", "show", "occupancy", "new-plugin", "nonsense"))
    kernel, size = one_of(KERNELS), ["--size", one_of(SIZES)]
    if command == "nonsense":
        return [rng.choice((*KERNELS, *NUMBERS, "run", "--size", "--version")) for _ in range(rng.randrange(4))]
    if command == "new-plugin":
        return [command, rng.choice((*KERNELS, "acme.fast", "class.x", "acme.über")), *options(("--from", KERNELS))]
    if command == "show":
        return [command, kernel, *options(("--json", BLOCKS))]
    if command == "occupancy":
        numbers = options(("--registers", NUMBERS), ("--shared", NUMBERS), ("--cc", CAPABILITIES), ("--block", BLOCKS))
        return [command, *([kernel, *size] if rng.random() < 0.5 else []), *numbers]
    size = size if rng.random() < 0.7 else options(("-m", NUMBERS), ("-n", NUMBERS), ("-k", NUMBERS)) or size
    shape = options(("--block", BLOCKS), ("--config", CONFIGS))
    launch = shape + options(("--lda", NUMBERS), ("--ldc", NUMBERS), ("--seed", NUMBERS))
    return [command, kernel, *size, *launch, "--device", one_of(DEVICES), "--timeout", "2"]


def test_any_command_is_answered_or_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng, codes = random.Random(1), Counter[int]()
    for _ in range(600):
        command = some_command(rng)
        result = mmcore(*command)
        codes[result.exit_code] += 1
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert result.exit_code in (0, 1, 2), command
        if result.exit_code == 2:
            assert result.stdout == "", command
            (sentence,) = result.stderr.splitlines()
            assert sentence.startswith("Error: "), command
    assert codes[0] > 50
    assert codes[2] > 50


@pytest.mark.parametrize("spec", DEVICES[3:])
def test_what_is_no_device_is_called_so(spec: str) -> None:
    with pytest.raises(NoDevice):
        open_device(spec)


HUGE = 10**5000
"""An int that Python does not print."""


def test_numbers_too_large_to_print_are_refused() -> None:
    for size in ({"m": HUGE, "n": 1, "k": 1}, {"m": 1, "n": 1, "k": 1, "ldc": HUGE}):
        with pytest.raises(InvalidProblem, match=r"^(m|ldc) must be less than 2⁶³$"):
            library.run("upc.kernel01", **size, device="emulator")  # type: ignore[arg-type]
    with pytest.raises(InvalidBlock, match="a block has fewer than 2⁶³ threads along each axis"):
        library.run("upc.kernel01", 8, block=HUGE, device="emulator")
    with pytest.raises(MmcoreError):
        library.run("upc.kernel01", 8, block=2**62, device="emulator")
    with pytest.raises(InvalidBlock):
        dim3((-HUGE,))
