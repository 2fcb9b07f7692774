"""A separate environment for a third party's package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMANDS = ("mmcore", "pytest")


def environment_with_mmcore(folder: Path) -> Path:
    """Create an environment with mmcore and its commands, without third-party plugins, and return its interpreter.

    It shares this environment's packages by links, so that nothing is fetched or built.
    """
    return _environment(folder, without="")


def _environment(folder: Path, without: str) -> Path:
    """Create the environment without the packages with names that begin with ``without``."""
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    for shared in (Path(path) for path in sys.path if path.endswith("-packages")):
        for entry in shared.iterdir():
            ours = without and entry.name.lstrip("_").removeprefix("editable___").startswith(without)
            if not (site / entry.name).exists() and not ours:
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


def fresh_environment(folder: Path, wheel: Path, project: Path) -> Path:
    """Make an environment in ``folder`` with a wheel of mmcore and one of ``project``, and return its interpreter."""
    python = _environment(folder, without="mmcore")
    site = next((folder / "lib").glob("python*/site-packages"))
    for installed in (wheel, built(project, folder / "wheels")):
        run(Path(sys.executable), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
            "--target", str(site), str(installed))  # fmt: skip
    return python


def built(project: Path, folder: Path) -> Path:
    """Build a wheel of a project's folder with the installed tools and return its path."""
    run(Path(sys.executable), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", str(folder), str(project))  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return wheel


def wheel_of_mmcore(folder: Path) -> Path:
    """Build a wheel of mmcore from a copy of its sources and return its path."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("mmcore", "plugins"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return built(source, folder)


def run(python: Path, *arguments: str, cwd: Path | None = None) -> str:
    """Run ``python …``, which must succeed, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    result = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
