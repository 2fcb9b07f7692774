"""``mmcore new-plugin``: a package of one's own to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json

if TYPE_CHECKING:
    from mmcore_new_plugin.project import Project

_ROLES = {
    "pyproject.toml": "the package, and the entry point that mmcore finds it by",
    "README.md": "what there is, and how to run it",
    "tests/test_kernel.py": "tests of the product, in every config",
    "bench/test_speed.py": "the benchmark",
}


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--dir", "folder", type=Path, metavar="D", help="Folder to write, new or empty; called like the package by default."
)
@click.option("--from", "model", metavar="KERNEL", help="Start from a copy of this kernel.")
@json_option
def new_plugin(name: str, folder: Path | None, model: str | None, as_json: bool) -> int:
    """Write a package with a kernel to start from."""
    registry = loaded_registry()
    from mmcore_new_plugin.names import free_names
    from mmcore_new_plugin.place import write_all
    from mmcore_new_plugin.project import check, project

    names = free_names(name, registry)
    if model is not None:
        registry.kernel(model)
    made = project(names, None if model is None else registry.kernels[model])
    folder = Path(names.distribution) if folder is None else folder
    write_all(folder, made.files, lambda staged: check(made, staged))
    if as_json:
        write_json(
            {
                "kernel": name,
                "from": model,
                "package": names.package,
                "distribution": names.distribution,
                "folder": str(folder.absolute()),
                "files": list(made.files),
                "next": _next(made, folder),
            }
        )
    else:
        render(
            f"{name}: {'a kernel to start from' if model is None else f'a copy of {model}'}, in {folder}\n",
            fields([(path, _ROLES.get(path, _role(path))) for path in made.files]),
            "\nnext:\n",
            *(f"    {command}" for command in _next(made, folder)),
        )
    return 0


def _role(path: str) -> str:
    if path.endswith("__init__.py"):
        return "makes it a package"
    return "declaration of the kernel" if path.endswith(".py") else "CUDA source"


def _next(made: Project, folder: Path) -> list[str]:
    """What to type after this, to see the kernel run, verified and measured."""
    kernel = made.names.kernel
    return [
        *([f"cd {shlex.quote(str(folder))}"] if folder != Path() else []),
        "python -m pip install -e .",
        f"mmcore run {kernel}",
        "pytest",
        f"mmcore conform {kernel}",
        f"pytest bench --mm-kernel {kernel}",
    ]
