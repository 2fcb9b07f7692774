"""Cells on a Ray cluster of two nodes on this machine, with a worker on the emulator each; one is killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmcore.cell import Cell
from mmcore.errors import MmcoreError, NoDevice
from mmcore_engines import Request, Scheduler, connect
from tests.command_line import python_path

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
pytestmark = [
    # Ray's own processes and sockets, which it leaves to the system.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

KERNELS = ("upc.kernel01", "upc.kernel11", "poznan.v2", "hpsee.tiled")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a cluster of a head and a second node, with one CPU each."""
    from ray.cluster_utils import Cluster

    monkeypatch.delenv("MMCORE_IN_PROCESS")
    monkeypatch.setenv("PYTHONPATH", python_path(Path(__file__).parents[2]))
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield found
    ray.shutdown()
    found.shutdown()


def cells(count: int) -> list[Cell]:
    return [Cell(KERNELS[index % len(KERNELS)], 64, 64, 64, seed=index, timeout=60) for index in range(count)]


def test_a_node_that_is_killed_loses_nothing(cluster: Any) -> None:
    second = cluster.add_node(num_cpus=1)
    said: list[str] = []
    spread = Scheduler(connect("ray", Request("emulator", cluster.address)), said.append)
    futures = [spread.add(cell, f"group {index % 6}") for index, cell in enumerate(cells(90))]
    spread.start().result()
    spread.begin()
    both = threading.Event()
    seen: set[str] = set()

    def note(future: Any) -> None:
        seen.add(future.result().place)
        if len(seen) == 2:
            both.set()

    for future in futures:
        future.add_done_callback(note)
    assert both.wait(60), "both nodes measure"
    cluster.remove_node(second)
    results = [future.result(120) for future in futures]
    spread.close()
    assert [result.cell.seed for result in results] == list(range(90))
    assert all(result.verified for result in results)
    assert len({result.place for result in results}) == 2
    # On a slow machine the scheduler says before that it waits for the first worker.
    (lost,) = (each for each in said if "is left out" in each)
    assert "the worker was lost (ActorDiedError" in lost or "(ActorUnavailable" in lost


def test_the_users_own_ray_goes_on(cluster: Any) -> None:
    ray.init(cluster.address, log_to_driver=False)
    connect("ray", Request("emulator", cluster.address)).close()
    assert ray.is_initialized()


def test_a_gpus_worker_needs_no_cpu(cluster: Any) -> None:
    cluster.add_node(num_cpus=0, num_gpus=1)
    engine = connect("ray", Request("cuda", cluster.address))
    (worker,) = engine.workers()
    assert json.loads(worker.submit(b'{"hello": true}').result(60))
    engine.close()


def test_pytest_bench_on_ray(cluster: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    engine = ("--mm-engine", "ray", "--mm-engine-address", cluster.address, "--mm-device", "emulator")
    result = pytester.runpytest_subprocess(*engine, "--mm-kernel", "upc.kernel01", "--mm-size", "16")
    result.assert_outcomes(passed=3)
    result.stdout.re_match_lines([r"measured 3 by \S+ emulator:0"])


@pytest.mark.usefixtures("cluster")
def test_what_ray_cannot_give_is_told(cluster: Any) -> None:
    for device, said in (("cuda", "the Ray cluster has no GPU"), ("cuda:0,cuda:1", "Ray assigns the cards itself")):
        with pytest.raises(NoDevice, match=said):
            connect("ray", Request(device, cluster.address))
    ray.shutdown()
    with pytest.raises(MmcoreError, match=r"there is no Ray at '127\.0\.0\.1:1': .*refused"):
        connect("ray", Request("emulator", "127.0.0.1:1"))
