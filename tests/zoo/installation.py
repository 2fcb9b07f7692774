"""The zoo's plugins, installed as pip would: each a distribution of its own, in a folder that goes onto PYTHONPATH."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PLUGINS = Path(__file__).parent / "plugins"
GOOD = "good"


def install(site: Path, names: Iterable[str]) -> Path:
    """Install the plugins ``zoo.NAME`` into ``site``, and return it."""
    for name in names:
        _install(site, name)
    return site


def _install(site: Path, name: str) -> None:
    package, metadata = site / f"zoo_{name}", site / f"zoo_{name}-1.0.dist-info"
    files = {
        package / "__init__.py": _own_or_good(name, ".py"),
        package / "kernel.cu": _own_or_good(name, ".cu"),
        metadata / "METADATA": f"Metadata-Version: 2.1\nName: zoo-{name.replace('_', '-')}\nVersion: 1.0\n",
        metadata / "entry_points.txt": f"[mmcore]\nzoo.{name} = zoo_{name}\n",
    }
    record = metadata / "RECORD"
    files[record] = "".join(f"{path.relative_to(site)},,\n" for path in (*files, record))
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _own_or_good(name: str, suffix: str) -> str:
    """A plugin's module or source; the good one's, under its name, where only the other of the two is wrong."""
    own = PLUGINS / f"{name}{suffix}"
    if own.exists():
        return own.read_text(encoding="utf-8")
    return (PLUGINS / f"{GOOD}{suffix}").read_text(encoding="utf-8").replace(f"zoo.{GOOD}", f"zoo.{name}")
