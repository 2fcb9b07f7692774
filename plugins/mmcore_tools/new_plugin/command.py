"""The command ``mmcore new-plugin``, which writes a package to start from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from mmcore.cli.kernel_param import KernelParam, refuse_file_options
from mmcore.cli.options import block_option, config_option
from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json
from mmcore.kernel_reference import KernelReference

_ROLES = {
    "pyproject.toml": "the package, and the entry point that mmcore finds it by",
    "README.md": "the files, and how to run them",
    "tests/test_kernel.py": "tests of the product, in every config",
    "bench/test_speed.py": "the benchmark",
    ".github/workflows/ci.yml": "the tests on GitHub, without a GPU",
    ".gitignore": "what git ignores",
}


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--dir", "folder", type=Path, metavar="D", help="Folder to write, new or empty; called like the package by default."
)
@click.option(
    "--from",
    "model",
    type=KernelParam(),
    metavar="KERNEL",
    help="Start from a copy of this kernel, or of the one in a .cu file.",
)
@block_option
@config_option
@json_option
def new_plugin(
    name: str, folder: Path | None, model: KernelReference | None, as_json: bool, **launch: Sequence[object] | None
) -> int:
    """Write a package with a kernel to start from."""
    if model is None:
        refuse_file_options("none is named")
    if not isinstance(model, Mapping) and any(launch.values()):
        raise click.UsageError("--block and --config are for a .cu file; a copy keeps the configs that are declared")
    registry = loaded_registry()
    from mmcore_tools.new_plugin.project import free_names, project

    names = free_names(name, registry)
    found = None if model is None else registry.kernel(model)
    shown = None if found is None else found.source.name if found.name in registry.files else found.name
    made = project(names, found)
    folder = Path(names.distribution) if folder is None else folder
    made.write(folder)
    if as_json:
        about = {"kernel": name, "from": shown, "package": names.package, "distribution": names.distribution}
        written = {"folder": str(folder.absolute()), "files": list(made.files), "next": _next(name, folder)}
        write_json({**about, **written})
        return 0
    roles = _ROLES | {f"{names.package}/__init__.py": "makes it a package"}
    roles[f"{names.package}/{names.module}.py"] = "declaration of the kernel"
    render(
        f"{name}: {'a kernel to start from' if model is None else f'a copy of {shown}'}, in {folder}\n",
        *(f"declared: {each}\n" for each in made.changes),
        fields([(path, roles.get(path, "CUDA source")) for path in made.files]),
        "\nnext:\n",
        *(f"    {command}" for command in _next(name, folder)),
    )
    return 0


def _next(kernel: str, folder: Path) -> list[str]:
    """Return the commands that install, run, verify and measure the kernel."""
    return [
        *([f"cd {shlex.quote(str(folder))}"] if folder != Path() else []),
        "python -m pip install -e .",
        f"mmcore run {kernel}",
        "pytest",
        f"mmcore conform {kernel}",
        f"pytest bench --mm-kernel {kernel}",
    ]
