"""The command line as tests use it: in this process, or in one of its own with plugins of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from mmcore.cli import main


def mmcore(*arguments: str) -> Result:
    """``mmcore …`` in this process; its stdout is no terminal."""
    return CliRunner().invoke(main, arguments, prog_name="mmcore")


def process(*arguments: str, options: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """``python … -m mmcore …`` in a process of its own."""
    return subprocess.run(
        [sys.executable, *options, "-m", "mmcore", *arguments],
        env=os.environ | environment,
        capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        check=False,
    )


def install(site: Path, distribution: str, entry_point: str, source: str) -> None:
    """Install a package of one module, named by one entry point, into a directory that goes onto ``PYTHONPATH``."""
    module = f"{distribution.replace('-', '_')}_module"
    (site / f"{module}.py").write_text(source)
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mmcore]\n{entry_point} = {module}\n")


def kernel_module(name: str, rule: str = "raise NotImplementedError") -> str:
    """A plugin that brings one kernel, whose launch rule does this."""
    return f"""
import os, signal
from mmcore import Kernel, Launch, hookimpl

def launch(problem, block, limits):
    {rule}

@hookimpl
def mmcore_kernels():
    return [Kernel(name={name!r}, title="A test's own", lecture="none", source=__file__.replace(".py", ".cu"),
                   entry="f", arguments=("A", "B", "C"), launch=launch, blocks=((8, 8),))]
"""
