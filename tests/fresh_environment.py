"""An environment of its own for a stranger's package."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.metadata import entry_points
from pathlib import Path

COMMANDS = ("mmcore", "pytest")


def environment_with_mmcore(folder: Path) -> Path:
    """Make an environment that has mmcore and its commands, and nothing of a stranger's; return its interpreter.

    It shares this environment's packages by links, so that nothing is fetched or built.
    """
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    for shared in (Path(path) for path in sys.path if path.endswith("-packages")):
        for entry in shared.iterdir():
            if not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    python = folder / "bin" / "python"
    for name in COMMANDS:
        (script,) = entry_points(group="console_scripts", name=name)
        command = folder / "bin" / name
        command.write_text(
            f"#!{python}\nimport sys\nfrom {script.module} import {script.attr}\nsys.exit({script.attr}())\n"
        )
        command.chmod(0o755)
    return python


def fresh_environment(folder: Path, project: Path) -> Path:
    """Make an environment in ``folder``, install ``project`` there, and return its interpreter."""
    python = environment_with_mmcore(folder)
    site = next((folder / "lib").glob("python*/site-packages"))
    run(Path(sys.executable), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--target", str(site), str(project))  # fmt: skip
    return python


def run(python: Path, *arguments: str, cwd: Path | None = None) -> str:
    """What ``python …`` prints; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    result = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
