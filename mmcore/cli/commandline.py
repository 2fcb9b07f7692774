"""The group of all commands: it imports them when they are called, and turns errors into sentences and exit codes."""

from __future__ import annotations

import contextlib
import io
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from mmcore.cli.output import keep_stdout_for_json, say
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.registry import COMMANDS, DISTRIBUTION, registry


class CommandLine(click.Group):
    """mmcore's own commands and those of plugins. A command returns its exit code; an error is a sentence and 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = COMMANDS.get(cmd_name) or _commands().get(cmd_name)  # the core's own need no plugin
        command = None if target is None else _imported(cmd_name, target)
        if command is not None:
            registry().asked("mmcore_command", command=command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not ctx.resilient_parsing and args[0] not in (known := list(_commands())):
            import difflib  # only for a name that was mistyped

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

    def main(self, args: Any = None, *others: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its code; takes what :meth:`click.Command.main` takes."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # × and ³ must not stop a terminal that cannot show them
        as_json = "--json" in (sys.argv if args is None else args)
        with keep_stdout_for_json() if as_json else contextlib.nullcontext():
            try:
                code = super().main(args, *others, **extra | {"standalone_mode": False})
            except click.Abort:
                code = 130  # 128 + SIGINT
            except click.ClickException as error:
                say(f"Error: {error.format_message()}")
                code = 2
        sys.exit(code)


def _commands() -> dict[str, str]:
    """Every command's "module:function", the core's own first."""
    return COMMANDS | {name: found.item for name, found in sorted(registry().commands.items())}


def _imported(name: str, target: str) -> click.Command:
    """The command; one that says why, in the help too, where it cannot be imported or is no command."""
    module, _, function = target.partition(":")
    try:
        command = getattr(import_module(module), function)
        reason = "is no click command"
    except (Exception, SystemExit) as error:  # a plugin's module may raise anything
        command, reason = None, " ".join(f"cannot be imported: {type(error).__name__}: {error}".split())
    broken = _Broken(name, short_help=f"(the command {name}, {target}, {reason})")
    return command if isinstance(command, click.Command) else broken


class _Broken(click.Command):
    def make_context(self, *_: Any, **__: Any) -> NoReturn:
        raise MmcoreError(str(self.short_help)[1:-1])


@click.group(cls=CommandLine, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, prog_name="mmcore", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """CUDA matrix-product kernels, verified before they are timed, on a GPU or an emulator.

    Every command takes --json. The exit status is 0 on success, 1 when the answer is no (a wrong product, a violation),
    and 2 when the request cannot be carried out or the time limit was reached.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
