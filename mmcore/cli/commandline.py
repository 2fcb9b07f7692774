"""The group that the commands hang from: it imports them late and turns errors into sentences and exit codes."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from mmcore.errors import MmcoreError

#: In the order of ``mmcore --help``. ``list-kernels`` is the function ``list_kernels`` in the module of that name.
COMMANDS = (
    *("list-kernels", "show", "run", "occupancy", "profile", "check", "conform", "experiment", "plot", "new-plugin"),
    "doctor",
)

REFUSED = 2
INTERRUPTED = 130


class CommandLine(click.Group):
    """A group that imports a command's module when the command is used.

    What a command returns is the exit code. Every error a user can cause is one sentence on stderr and exit code 2.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"mmcore.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            # Only for a name that was mistyped.
            import difflib

            begun = [name for name in COMMANDS if name.startswith(args[0])]
            near = begun or difflib.get_close_matches(args[0], COMMANDS, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MmcoreError as error:
            raise click.ClickException(str(error)) from None

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its code; takes what :meth:`click.Command.main` takes."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # × and ³ must not stop a terminal that cannot show them
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except click.Abort:
            code = INTERRUPTED
        except click.ClickException as error:
            click.echo(f"Error: {error.format_message()}", err=True)
            code = REFUSED
        sys.exit(code)
