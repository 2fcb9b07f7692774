"""``pytest --pyargs mmcore_tools.conform``: a test for each selected kernel and each property.

``--mm-kernel``, ``--mm-dtype``, ``--mm-device`` and ``--mm-timeout`` have the same meaning as in benchmarks; products
and configs follow from the kernels' constraints. A kernel is tested when the first of its tests runs.
"""

from __future__ import annotations

import functools

import pytest

from mmcore.errors import CompilerMissing, MmcoreError
from mmcore.registry import registry
from mmcore_pytest.options import Selection
from mmcore_tools.conform.conformance import Conformance, conform_kernel
from mmcore_tools.conform.outcome import FAILED, PROPERTIES, SKIPPED


@functools.lru_cache(maxsize=1)  # all tests of a kernel follow one another
def _last_conformance(name: str, device: str, timeout: float) -> Conformance:
    found = registry()
    reference = name if name in found.kernels else found.files[name].reference
    return conform_kernel(reference, device, timeout=timeout)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each kernel and property."""
    selection = Selection.of(metafunc.config)
    if selection.sizes or selection.blocks:
        raise pytest.Collector.CollectError("conform finds sizes and configs itself; leave out --mm-size, --mm-block")
    try:
        kernels, _ = registry().matching(selection.kernels)
    except MmcoreError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    names = [kernel.name for kernel in kernels if kernel.dtype in (selection.dtypes or (kernel.dtype,))]
    if not names:
        raise pytest.Collector.CollectError("no kernel is selected; kernels with known bugs must be named")
    pairs = [(name, tested) for name in names for tested in PROPERTIES]
    metafunc.parametrize(("name", "tested"), pairs, ids=[f"{name}-{tested}" for name, tested in pairs])


def test_conforms(name: str, tested: str, pytestconfig: pytest.Config) -> None:
    """Assert that a kernel has a property; a failure names the case and the command that shows it."""
    selection = Selection.of(pytestconfig)
    try:
        conformance = _last_conformance(name, selection.device, selection.timeout)
    except CompilerMissing as error:
        pytest.skip(str(error))
    except MmcoreError as error:
        pytest.fail(str(error), pytrace=False)
    outcomes = conformance.of(tested)
    failures = [f"{each.what}: {each.reason}\n    $ {each.reproduce}" for each in outcomes if each.outcome == FAILED]
    if failures:
        pytest.fail(f"{name}, {tested}: {PROPERTIES[tested]}\n" + "\n".join(failures), pytrace=False)
    if conformance.stopped:
        pytest.fail(f"{name} was not tested to the end: {conformance.stopped}", pytrace=False)
    if all(each.outcome == SKIPPED for each in outcomes):
        pytest.skip(outcomes[0].reason if outcomes else conformance.why_untested(tested))
