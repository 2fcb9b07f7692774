"""The group that the commands hang from: it imports them late and turns errors into sentences and exit codes."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from mmcore.errors import MmcoreError, TimeLimit

#: The core's own, in the order of ``mmcore --help``. Those of plugins come behind them, and cannot take their names.
COMMANDS = {
    "list-kernels": "mmcore.cli.list_kernels:list_kernels",
    "show": "mmcore.cli.show:show",
    "run": "mmcore.cli.run:run",
    "doctor": "mmcore.cli.doctor:doctor",
}

FAILED = 2
INTERRUPTED = 130


class CommandLine(click.Group):
    """A group that imports a command's module when the command is used.

    What a command returns is the exit code. Every error a user can cause is one sentence on stderr and exit code 2.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # The core's own need no plugin.
        target = COMMANDS.get(cmd_name) or _commands().get(cmd_name)
        return None if target is None else _imported(cmd_name, target)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name, target in _commands().items():
            try:
                rows.append((name, _imported(name, target).get_short_help_str(limit=formatter.width - 20)))
            except MmcoreError as error:
                rows.append((name, f"({error})"))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing and args[0] not in (known := list(_commands())):
            # Only for a name that was mistyped.
            import difflib

            begun = [name for name in known if name.startswith(args[0])]
            near = begun or difflib.get_close_matches(args[0], known, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MmcoreError as error:
            hint = "; --timeout sets the limit" if isinstance(error, TimeLimit) else ""
            raise click.ClickException(f"{error}{hint}") from None

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
            code = FAILED
        sys.exit(code)


def _commands() -> dict[str, str]:
    """Every command's "module:function"."""
    from mmcore.registry import registry

    plugins = {name: registered.item for name, registered in registry().commands.items() if name not in COMMANDS}
    return COMMANDS | dict(sorted(plugins.items()))


def _imported(name: str, target: str) -> click.Command:
    """The command; a plugin's module may raise anything.

    Raises:
        MmcoreError: it cannot be imported, or is no command.
    """
    module, _, function = target.partition(":")
    try:
        command = getattr(import_module(module), function)
    except MmcoreError:
        raise
    except Exception as error:
        raise MmcoreError(f"the command {name}, {target}, cannot be imported: {type(error).__name__}: {error}") from None
    if not isinstance(command, click.Command):
        raise MmcoreError(f"the command {name}, {target}, is no click command")
    return command
