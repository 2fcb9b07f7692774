"""Installation of the zoo's plugins as pip would do it: one distribution each, in a folder for PYTHONPATH."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.zoo.table import ZOO

PLUGINS = Path(__file__).parent / "plugins"
GOOD = "good"
_WRONG = {plugin.name: plugin for plugin in ZOO}


def install(site: Path, names: Iterable[str]) -> Path:
    """Install the plugins ``zoo.NAME`` into ``site``, and return it."""
    for name in names:
        _install(site, name)
    return site


def _install(site: Path, name: str) -> None:
    package, metadata = site / f"zoo_{name}", site / f"zoo_{name}-1.0.dist-info"
    source = PLUGINS / f"{name}.cu"
    files = {
        package / "__init__.py": _module(name),
        package / "kernel.cu": (source if source.exists() else PLUGINS / f"{GOOD}.cu").read_text(encoding="utf-8"),
        metadata / "METADATA": f"Metadata-Version: 2.1\nName: zoo-{name.replace('_', '-')}\nVersion: 1.0\n",
        metadata / "entry_points.txt": f"[mmcore]\nzoo.{name} = zoo_{name}\n",
    }
    record = metadata / "RECORD"
    files[record] = "".join(f"{path.relative_to(site)},,\n" for path in (*files, record))
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _module(name: str) -> str:
    """Return the right plugin's module, with the name, the statements and the attributes of another plugin."""
    module = (PLUGINS / f"{GOOD}.py").read_text(encoding="utf-8").replace(f"zoo.{GOOD}", f"zoo.{name}")
    if name in _WRONG:
        module = module.replace("\n@hookimpl", f"\n{_WRONG[name].statements}\n\n@hookimpl")
        module = module.replace("**usual)", f"**usual | dict({_WRONG[name].declared}))")
    return module
