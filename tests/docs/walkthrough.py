"""A tutorial, followed as a reader would: commands are typed, files are written.

A page has these blocks:

- ``console``: each line that begins with ``$`` is a command, and the lines below it are its output. A command that
  fails is followed by ``$ echo $?``; every other one succeeds.
- a block after a line that ends in a file's name and a colon: the file's content.
- ``diff`` after such a line: the lines to remove from the file and to add; ``@@`` separates two changes.
- ``text``, ``bash``, ``yaml``: nothing to do.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import TypeAlias

_BLOCK = re.compile(r"(?P<before>[^\n]*)\n+^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([^`\s]+)`:$")
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_STATUS = "echo $?"


@dataclass(frozen=True)
class Command:
    """Something to type, and what it prints."""

    line: int
    typed: str
    shown: str
    may_fail: bool


@dataclass(frozen=True)
class Content:
    """A file to write."""

    line: int
    path: str
    text: str


@dataclass(frozen=True)
class Edit:
    """Lines of a file to replace by others, context included."""

    line: int
    path: str
    old: str
    new: str


Step: TypeAlias = Command | Content | Edit


def steps(page: str) -> Iterator[Step]:
    """Yield the steps of a page, in order."""
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start("text"))
        language, text = block["language"], block["text"]
        named = _NAMED.search(block["before"])
        if language == "console":
            yield from _commands(line, text)
        elif named and language == "diff":
            for hunk in text.split("@@\n"):
                yield Edit(line, named[1], _side(hunk, "-"), _side(hunk, "+"))
        elif named:
            yield Content(line, named[1], text)
        elif language not in ("text", "bash", "yaml"):
            raise AssertionError(f"line {line}: a block that is neither a command, nor a file, nor text to read")


def _commands(line: int, text: str) -> Iterator[Command]:
    found = _COMMAND.findall(text)
    assert "".join(f"$ {typed}\n{shown}" for typed, shown in found) == text, f"line {line}: output without a command"
    for (typed, shown), (following, _) in zip(found, [*found[1:], ("", "")], strict=True):
        yield Command(line, typed, shown, may_fail=following == _STATUS)


def _side(hunk: str, sign: str) -> str:
    lines = hunk.splitlines(keepends=True)
    assert all(line[0] in "+- " for line in lines), f"a line begins with neither +, - nor a space:\n{hunk}"
    return "".join(line[1:] for line in lines if line[0] in (sign, " "))


@dataclass
class Reader:
    """A reader that follows a page in a shell.

    Attributes:
        folder: the shell's working folder.
        environment: the shell's variables.
        steadied: returns the part of a command's output that is the same every time, given both.
        status: the last command's exit status.
    """

    folder: Path
    environment: Mapping[str, str]
    steadied: Callable[[str, str], str]
    status: int = 0

    def follow(self, page: str) -> None:
        """Follow a page; raise AssertionError at another outcome than the page shows."""
        for step in steps(page):
            if isinstance(step, Command):
                self._type(step)
            elif isinstance(step, Content):
                self._write(step)
            else:
                self._edit(step)

    def print_of(self, typed: str) -> str:
        """Type a command, and return what it prints."""
        # Each command has a new shell, which gets the last exit status and prints its folder at the end.
        script = f"(exit {self.status}); {typed}\nstatus=$?\nprintf '\\0%s' \"$PWD\"\nexit $status\n"
        result = subprocess.run(
            ["sh", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.status = result.returncode
        printed, _, folder = result.stdout.rpartition("\0")
        self.folder = Path(folder)
        return printed

    def _type(self, command: Command) -> None:
        printed = self.print_of(command.typed)
        said = f"line {command.line}: $ {command.typed}"
        assert command.may_fail or self.status == 0, f"{said}\nexits with {self.status}:\n{printed}"
        shown, found = (self.steadied(command.typed, text).splitlines() for text in (command.shown, printed))
        assert found == shown, "\n".join([said, *unified_diff(shown, found, "shown", "printed", lineterm="")])

    def _write(self, content: Content) -> None:
        path = self.folder / content.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.text, encoding="utf-8")

    def _edit(self, edit: Edit) -> None:
        path = self.folder / edit.path
        text = path.read_text(encoding="utf-8")
        times = text.count(edit.old)
        assert times == 1, f"line {edit.line}: {edit.path} has the lines to replace {times} times"
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
