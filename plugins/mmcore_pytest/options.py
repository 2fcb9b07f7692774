"""The ``--mm-`` options, and the selection that they make."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmcore.cell import INPUTS, LIBRARY, WAYS
from mmcore.deadline import USUAL_SECONDS, parse_seconds
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import parse_config
from mmcore.kernel.geometry import parse_shape
from mmcore.kernel.problem import dtype_named
from mmcore.kernel.sizes import Sizes
from mmcore.kernel_reference import KernelReference
from mmcore.messages import quoted, visible
from mmcore_pytest.sizes import parse_sizes

ALL_CONFIGS = "all"


@dataclass(frozen=True)
class Selection:
    """The selected kernels, sizes and measurements.

    An empty tuple selects the default: all kernels, their usual configs, the device's sizes.
    """

    kernels: tuple[KernelReference, ...]  # names, files, or patterns with *, ? and []
    sizes: tuple[Sizes, ...]
    blocks: tuple[str, ...]
    configs: tuple[Mapping[str, Any], ...]  # parameters by name
    all_configs: bool  # True to measure every config
    dtypes: tuple[str, ...]  # element types of A and B
    device: str  # the value of --mm-device
    measures: tuple[str, ...]  # "kernel", "end-to-end" or both
    memories: tuple[str, ...]  # host memory of the copies of end-to-end times
    caches: tuple[str, ...]  # "warm", "cold" or both, for kernel times
    timeout: float  # seconds, for each cell
    baseline: str  # name or pattern of the kernels to compare with; empty for none
    against: str  # a revision or folder with other versions of the sources to compare with; empty for none
    inputs: str  # "usual" or "wide"
    engine: str  # the engine's name; empty for a single worker process
    engine_address: str
    spread: bool  # True if cells of one table may be measured on several cards
    allow_hazards: bool  # True to measure kernels without looking for hazards

    @classmethod
    def of(cls, config: pytest.Config) -> Selection:

        def each(name: str) -> tuple[Any, ...]:
            several: list[Any] = []
            for values in config.getoption(name) or ():
                several += [value for value in values if value not in several]
            return tuple(several)

        many_devices = config.getoption("mm_device") == "all" or "," in config.getoption("mm_device")
        engine = config.getoption("mm_engine") or ("processes" if many_devices else "")
        for option, name in (("--mm-engine-address", "mm_engine_address"), ("--mm-spread", "mm_spread")):
            if config.getoption(name) and not engine:
                raise MmcoreError(f"{option} is for several workers; add --mm-device all or --mm-engine")
        measures, configs = each("mm_measure") or ("kernel",), config.getoption("mm_config") or ()
        if config.getoption("mm_memory") and "end-to-end" not in measures:
            raise MmcoreError("--mm-memory is for end-to-end times; add --mm-measure end-to-end")
        if config.getoption("mm_cache") and "kernel" not in measures:
            raise MmcoreError("--mm-cold and --mm-warm are for kernel times; add --mm-measure kernel")
        single = ("device", "timeout", "against", "inputs", "engine_address", "spread", "allow_hazards")
        values: dict[str, Any] = {name: config.getoption(f"mm_{name}") for name in single}
        values |= {f"{name}s": each(f"mm_{name}") for name in ("kernel", "size", "block", "dtype")}
        return cls(
            **values,
            configs=tuple(each for each in configs if each != ALL_CONFIGS),
            all_configs=ALL_CONFIGS in configs,
            measures=measures,
            memories=each("mm_memory") or WAYS["end-to-end"][:1],
            caches=tuple(dict.fromkeys(config.getoption("mm_cache") or ("warm",))),
            baseline=config.getoption("mm_baseline").replace("none", ""),
            engine=engine,
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to pytest's parser."""
    group = parser.getgroup("mmcore", "mmcore: benchmarks of CUDA matrix-product kernels")

    def option(name: str, metavar: str, read: Callable[[str], Any], text: str, **further: Any) -> None:
        def reader(text: str) -> Any:
            try:
                return read(text)
            except MmcoreError as error:
                raise argparse.ArgumentTypeError(visible(str(error))) from None

        further = further or {"action": "append"}
        group.addoption(f"--mm-{name}", type=reader, metavar=metavar, help=text, **further)

    measures, memories = tuple(WAYS), WAYS["end-to-end"]
    option("kernel", "GLOB", _words, "Only kernels that match this name or pattern, such as 'upc.*' (repeatable).")
    option("size", "SPEC", parse_sizes, "Sizes: 640, 512x256x128 (MxNxK), 128:3200:32 (start:stop:step), comma lists.")
    option("block", "SPEC", _blocks, "Thread blocks instead of the kernels' defaults: 16, 32x8, comma lists.")
    option(
        "config", "NAME=VALUE", _config, "Only configs with this value: BM=128, comma lists; or all for every config."
    )
    text = "Only kernels with this element type: float32, or f32 for short."
    option("dtype", "T", lambda types: [dtype_named(word).name for word in _words(types)], text)
    option(
        "measure", "WHAT", _among(measures), "kernel (the default), end-to-end (copies in, kernel, copy out), or both."
    )
    option("memory", "WHERE", _among(memories), "Host memory of the copies: pageable (the default), pinned, or both.")
    text = "auto (the default), cuda, cuda:1, emulator, ...; all or a comma list starts a worker on each device."
    option("device", "D", str, text, default="auto")
    text = "Engine that measures the cells: processes (a worker for each card of this machine), ray, or a plugin's."
    option("engine", "NAME", str, text, default="")
    text = "Address of the engine. For Ray: auto, HOST:PORT or ray://HOST:PORT."
    option("engine-address", "WHERE", str, text, default="")
    text = "Allow cells of one table to be measured on several cards."
    group.addoption("--mm-spread", action="store_true", help=text)
    for name, text in (
        ("cold", "with an empty L2 cache."),
        ("warm", "with the cache as the previous launch left it (default)."),
    ):
        group.addoption(f"--mm-{name}", dest="mm_cache", action="append_const", const=name, help=f"Kernel times {text}")
    limit = f"Time limit of each cell in seconds, from planning to its last launch (default {USUAL_SECONDS:g})."
    option("timeout", "S", parse_seconds, limit, default=USUAL_SECONDS)
    text = f"Baseline to alternate with: {LIBRARY} (the default), a pattern of kernels' names, or none."
    option("baseline", "GLOB", str, text, default=LIBRARY)
    text = "Version of the kernels' sources to alternate with: a Git revision or a folder."
    option("against", "REV|DIR", str, text, default="")
    group.addoption(
        "--mm-inputs", choices=INPUTS, default="usual", help="Inputs of usual magnitude, or with all exponents."
    )
    option("csv", "FILE", _writable, "Also write the summary as CSV.", default=None)
    text = "List the combinations that the kernels' constraints forbid, and why."
    group.addoption("--mm-show-refused", action="store_true", help=text)
    text = "Measure kernels without looking for races and other hazards."
    group.addoption("--mm-allow-hazards", action="store_true", help=text)
    text = "Without a GPU, --benchmark-compare fails if a count is worse by more than so many percent (default 0)."
    option("allow-growth", "PERCENT", _percent, text, default=0.0)
    text = "Allow --benchmark-compare to use results of another device."
    group.addoption("--mm-allow-other-device", action="store_true", help=text)


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise MmcoreError(f"{text!r} has nothing between two commas" if len(words) > 1 else "it is empty")
    return words


def _blocks(text: str) -> list[str]:
    for word in (words := _words(text)):
        parse_shape(word)
    return words


def _config(text: str) -> str | dict[str, Any]:
    return text if text == ALL_CONFIGS else parse_config(text)


def _among(choices: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        for word in (words := _words(text)):
            if word not in choices:
                raise MmcoreError(f"{word!r} is neither {' nor '.join(choices)}")
        return words

    return read


def _percent(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not 0 <= percent < math.inf:
        raise MmcoreError(f"{quoted(text)} is not a number of percent from 0")
    return percent


def _writable(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise MmcoreError(f"{text!r} is a folder" if path.is_dir() else f"there is no folder {str(path.parent)!r}")
    return path
