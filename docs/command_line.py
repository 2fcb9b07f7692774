"""The page command-line.md: ``python docs/command_line.py`` writes it from the commands' help."""

from __future__ import annotations

from pathlib import Path

import click

from mmcore.cli import main
from mmcore.registry import DISTRIBUTION, registry

PAGE = Path(__file__).with_name("command-line.md")
WIDTH = 80
HEAD = """# The command line

A KERNEL is a registered name, or the path of a file. Every command takes `--json`. With `-q`, a command prints its
result alone, with faults, warnings and hints.

Exit status: 0 = right, 1 = wrong, 2 = could not run, or reached its time limit before there was a verdict (the reason
is on stderr, in a sentence), 130 = interrupted by Ctrl-C, 141 = the program that reads the output has ended.

A shell completes kernels, files and devices after `eval "$(_MMCORE_COMPLETE=bash_source mmcore)"` in `~/.bashrc`
(`zsh_source` in `~/.zshrc`; for fish, `_MMCORE_COMPLETE=fish_source mmcore | source`).

This is the help of each command. `mmcore bench --help` also lists the options of pytest-benchmark.
"""
# pytest-benchmark's own options, the last of the help, contain the date and the revision.
OTHERS = "\n\nOptions of pytest, benchmark:"


def page() -> str:
    """Return the text of the page."""
    with click.Context(main, info_name="mmcore", **main.context_settings) as group:
        ours = [name for name, each in registry().commands.items() if each.origin.distribution == DISTRIBUTION]
        commands = {name: main.get_command(group, name) for name in sorted(ours)}
        return HEAD + "".join(_section(command, name, group) for name, command in commands.items() if command)


def _section(command: click.Command, name: str, group: click.Context) -> str:
    """Return a command's heading and its help, then those of its subcommands."""
    context = click.Context(command, group, name, terminal_width=WIDTH)
    ours, _, _ = command.get_help(context).partition(OTHERS)
    subcommands = command.commands if isinstance(command, click.Group) else {}
    sections = (_section(each, each_name, context) for each_name, each in subcommands.items())
    return f"\n## {context.command_path}\n\n```text\n{ours.rstrip()}\n```\n" + "".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
