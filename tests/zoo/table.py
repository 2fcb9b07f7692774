"""The plugins of the zoo, the error of each, and the report that it must get. ``table.toml`` lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.tables import section_of

WORDS: dict[str, str] = section_of(__file__, "words")
MEASURED = WORDS["MEASURED"]
"""The report of a kernel that a benchmark finds right."""


@dataclass(frozen=True)
class BadPlugin:
    """One plugin.

    Attributes:
        name: the kernel and its plugin are called ``zoo.NAME``.
        does: its error.
        emulator: pattern of the report of ``pytest bench/`` on the emulator.
        gpu: the same on a GPU, where it differs.
        command: the mmcore command that finds the error where a benchmark cannot.
        shown: pattern of that command's output.
        harm: effect on every command while the plugin is installed, so that it is not installed beside the others. A
            plugin's Python has the user's rights, and nothing prevents this.
        declared: attributes that its declaration of the kernel adds to the right one, as Python.
        statements: Python in its module.
    """

    name: str
    does: str
    emulator: str = ""
    gpu: str = ""
    command: str = ""
    shown: str = ""
    harm: str = ""
    declared: str = ""
    statements: str = ""

    def report(self, device: str) -> str:
        """Return the pattern of the report on the emulator or a GPU."""
        return self.gpu or self.emulator if device != "emulator" else self.emulator


def _listed(section: str) -> Iterator[BadPlugin]:
    """Yield the plugins of a section of the file."""
    for name, texts in section_of(__file__, section).items():
        for word, meaning in WORDS.items():
            texts = {key: text.replace(f"<{word}>", meaning) for key, text in texts.items()}
        yield BadPlugin(name, **texts)


INSTALLED = tuple(_listed("installed"))
"""The plugins that are installed together, next to the lectures' plugins."""

ZOO = (*INSTALLED, *_listed("harmful"))
