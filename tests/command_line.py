"""The command line for tests: in this process or in a new one, with the test's plugins."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from click.testing import CliRunner, Result

from mmcore.cli import main
from mmcore.registry import registry


def mmcore(*arguments: str, site: Path | None = None) -> Result:
    """Run ``mmcore …`` in this process, with the plugins installed in ``site``; its stdout is not a terminal."""
    with nullcontext() if site is None else installed(site):
        return CliRunner().invoke(main, arguments, prog_name="mmcore")


def process(*arguments: str, options: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``python … -m mmcore …`` in a new process."""
    return subprocess.run(
        [sys.executable, *options, "-m", "mmcore", *arguments],
        env=os.environ | environment,
        capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        check=False,
        # A process that a shell starts in the background ignores Ctrl-C, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def python_path(*first: Path) -> str:
    """Return a ``PYTHONPATH`` of some folders, and of what this process imports from."""
    return os.pathsep.join([*map(str, first), *filter(None, sys.path)])


@contextmanager
def installed(site: Path) -> Iterator[None]:
    """Add the plugins of ``site`` to the registry until the block ends."""
    sys.path.insert(0, str(site))
    importlib.invalidate_caches()
    registry.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(f"{site}{os.sep}"):
                del sys.modules[name]
        registry.cache_clear()


def install(site: Path, distribution: str, entry_point: str, source: str) -> None:
    """Install a package of one module, named by one entry point, into a directory that goes onto ``PYTHONPATH``."""
    module = f"{distribution.replace('-', '_')}_module"
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / f"{module}.py").write_text(source)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mmcore]\n{entry_point} = {module}\n")


def kernel_module(name: str, rule: str = "return Launch(grid=(1,), block=config.block)") -> str:
    """Return the text of a plugin with one kernel; ``rule`` is the body of its launch rule."""
    return f"""
import os, signal
from mmcore import Kernel, Launch, hookimpl

def launch(problem, config, device):
    {rule}

@hookimpl
def mmcore_kernels():
    return Kernel(name={name!r}, configs=[{{"block": (8, 8)}}], source=__file__.replace(".py", ".cu"),
                  entry="f", arguments=("A", "B", "C"), launch=launch)
"""
