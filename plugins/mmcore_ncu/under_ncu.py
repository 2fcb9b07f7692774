"""What ncu watches: ``python -m mmcore_ncu.under_ncu REQUESTS.json`` makes the launches asked for, once each.

ncu is told to look only between the profiler's start and stop, so that it sees a product's own launches and nothing of
what prepares them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cuda.bindings import driver

from mmcore.errors import KernelError
from mmcore.experiment import host_arrays
from mmcore.verify.inputs import draw
from mmcore.devices.choose import open_in_process
from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.kernel.geometry import Dim3
from mmcore.planning.plan import plan
from mmcore_ncu.ncu import Request
from mmcore.registry import registry


def main(path: Path) -> None:
    """Make every launch of every request."""
    requests = [Request(**request) for request in json.loads(path.read_text())]
    for request in requests:
        launch(request, open_in_process(request.device, registry().providers))


def launch(request: Request, device: Device) -> None:
    """One product under the profiler's eyes."""
    kernel = registry().kernel(request.kernel)
    problem = kernel.problem(request.m, request.n, request.k, lda=request.lda, ldb=request.ldb, ldc=request.ldc)
    planned = plan(kernel, problem, Dim3(*request.block), device.limits, force=request.force)
    with LoadedKernel(planned, device) as prepared:
        prepared.upload(host_arrays(planned, draw(problem, request.seed)))
        driver.cuProfilerStart()
        violations = prepared.run()
        driver.cuProfilerStop()
    if violations:
        raise KernelError(f"{request.kernel}: {violations[0].message}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
