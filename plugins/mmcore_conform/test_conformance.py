"""``pytest --pyargs mmcore_conform``: a test for each selected kernel and each aspect of conformance.

``--mm-kernel``, ``--mm-dtype`` and ``--mm-device`` select as they do for benchmarks, and ``--mm-timeout`` says how
long a case may take; products and blocks are found from
the kernels' constraints. A kernel is tried once, when the first of its tests runs.
"""

from __future__ import annotations

import functools

import pytest

from mmcore.api import device as opened
from mmcore.pytest_plugin.options import Selection
from mmcore_conform.conform import Conformance, conform_kernel, watching_device
from mmcore_conform.trial import ASPECTS, FAILED, UNTRIED
from mmcore.errors import MmcoreError
from mmcore.registry import registry


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each kernel and aspect."""
    selection = Selection.of(metafunc.config)
    if selection.sizes or selection.blocks:
        raise pytest.Collector.CollectError(
            "conformance finds sizes and blocks itself; leave out --mm-size, --mm-block"
        )
    try:
        kernels, _ = registry().matching(selection.kernels)
    except MmcoreError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    names = [kernel.name for kernel in kernels if kernel.dtype in (selection.dtypes or (kernel.dtype,))]
    if not names:
        raise pytest.Collector.CollectError("there is nothing to try; kernels with known violations must be named")
    pairs = [(name, aspect) for name in names for aspect in ASPECTS]
    metafunc.parametrize(("name", "aspect"), pairs, ids=[f"{name}-{aspect}" for name, aspect in pairs])


@functools.lru_cache(maxsize=1)
def _conformance(name: str, device: str, seconds: float) -> Conformance:
    """The last kernel's, of which all tests follow one another."""
    runner = opened(device)
    return conform_kernel(registry().kernel(name), runner, watching_device(runner), seconds=seconds)


def test_conforms(name: str, aspect: str, pytestconfig: pytest.Config) -> None:
    """The kernel keeps this aspect of what it declares; each failure names the case and the command that shows it."""
    selection = Selection.of(pytestconfig)
    try:
        conformance = _conformance(name, selection.device, selection.timeout)
    except MmcoreError as error:
        pytest.fail(str(error), pytrace=False)
    trials = conformance.of(aspect)
    failures = [f"{each.what}: {each.reason}\n    $ {each.reproduce}" for each in trials if each.verdict == FAILED]
    if failures:
        pytest.fail(f"{name}, {aspect}: {ASPECTS[aspect]}\n" + "\n".join(failures), pytrace=False)
    if all(each.verdict == UNTRIED for each in trials):
        pytest.skip(trials[0].reason if trials else "there is nothing of it to try")
