"""The group of all commands: it imports them when they are called, and turns errors into sentences and exit codes."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from mmcore.cli.kernel_param import add_file_options
from mmcore.cli.output import json_option, keep_stdout_for_json, write
from mmcore.errors import FailingProgram, MmcoreError, NoKernel, TimeLimit, described, place
from mmcore.messages import finish, quoted, say, visible
from mmcore.plugins import imported
from mmcore.registry import DISTRIBUTION, registry

_WORDS = "mmcore.words"  # in a context's meta: the words of the command line
_LARGEST_STATUS = 255
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)


class _Context(click.Context):
    """A context whose help is shown and not obeyed: a plugin's may hold anything."""

    def get_help(self) -> str:
        return visible(super().get_help())


class CommandLine(click.Group):
    """The commands that plugins add. A command returns its exit code; an error is a sentence and 2."""

    context_class = _Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(registry().commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in registry().commands:
            return None
        target = registry().commands[cmd_name].item
        command: click.Command
        try:
            command = imported(f"the command {cmd_name}", target)
            if not isinstance(command, click.Command):
                raise MmcoreError(f"the command {cmd_name}, {target}, is no click command")
        except MmcoreError as error:
            command = _Broken(cmd_name, short_help=f"({error})")
        add_file_options(command)
        _add_json_option(command)
        command.context_class = _Context
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not ctx.resilient_parsing:
            if args[0] not in registry().commands and Path(args[0]).is_file():
                command = shlex.join(["mmcore", "run", *args])
                raise MmcoreError(f"{quoted(args[0])} is a file and no command; did you mean this?\n  {command}")
            registry().commands.named(args[0], registry().failed)
        return super().resolve_command(ctx, args)

    def main(self, args: Any = None, prog_name: str | None = "mmcore", *_: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its status; takes what :meth:`click.Command.main` takes.

        The SystemExit has the error that ended the command, if any, as its cause.
        """
        words = sys.argv[1:] if args is None else list(args)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # × and ³ must not stop a terminal that cannot show them
        with keep_stdout_for_json() if "--json" in words else contextlib.nullcontext():
            outcome = _outcome(words, lambda: self._run(words, prog_name, extra))
        if outcome.sentence is not None:
            say(outcome.sentence)
        finish(sys.stdout)
        raise SystemExit(outcome.status) from outcome.error

    def _run(self, words: list[str], name: str | None, extra: dict[str, Any]) -> Any:
        if "_MMCORE_COMPLETE" in os.environ:  # a shell asks for the words that may follow
            return super().main(words, name, standalone_mode=False, **extra)
        with self.make_context(name, words, **extra) as context:
            context.meta[_WORDS] = words
            returned = self.invoke(context)
            return _checked(returned, context.invoked_subcommand)


class _Outcome(NamedTuple):
    """The exit status of a command, and the sentence to write and mmcore's error where it could not run."""

    status: int
    sentence: str | None = None
    error: MmcoreError | None = None


def _outcome(words: Sequence[str], run: Callable[[], Any]) -> _Outcome:
    """Return the outcome of a command.

    Commands that would run, of these ``words`` and an option, follow the sentence.
    """
    try:
        status = run()
        print(end="", flush=True)  # what cannot be written is an error of the command
    except KeyboardInterrupt as interrupt:
        return _Outcome(130, "\n".join(["", *map(str, interrupt.args)]))  # 128 + SIGINT; the line of ^C ends
    except (click.Abort, EOFError):
        return _Outcome(130, "")
    except BrokenPipeError:  # the reader has gone
        return _Outcome(141)  # 128 + SIGPIPE
    except click.exceptions.Exit as stopped:
        status = stopped.exit_code
    except SystemExit as stopped:
        status = stopped.code
    except click.ClickException as error:
        return _Outcome(2, f"Error: {error.format_message()}")
    except MmcoreError as error:
        commands = "".join(f"\n  {each}" for each in _commands(words, error))
        status = 1 if isinstance(error, FailingProgram) else 2
        limit = "; --timeout sets the limit" if isinstance(error, TimeLimit) else ""
        return _Outcome(status, f"Error: {error}{limit}{commands}", error)
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _Outcome(2, f"Error: {_reason(error)}")
    return (
        _Outcome(2, f"Error: {status}")
        if isinstance(status, str)
        else _Outcome(status if isinstance(status, int) else 0)
    )


def _commands(words: Sequence[str], error: MmcoreError) -> list[str]:
    """Return the commands that would run, of these words and what an error asks for: an option, or another file."""
    if not isinstance(error, NoKernel):
        return [command_with(words, option) for option in error.options]
    others = map(os.path.relpath, error.others)
    here = [Path(word).absolute() == error.file for word in words]
    several = [[other if is_file else word for word, is_file in zip(words, here, strict=True)] for other in others]
    return [command_with(replaced, option) for replaced in several for option in error.options or ("",)]


def command_with(words: Sequence[str], option: str) -> str:
    """Return a command of these words with further options, in place of those that have the same names."""
    names = {word for word in shlex.split(option) if word.startswith("--")} - {"--config", "--define", "--option"}
    names |= {"-m", "-n", "-k"} if "--size" in names else set()
    kept, waiting = list[str](), iter(words)
    for word in waiting:
        if word in names:
            next(waiting, None)
        elif word.partition("=")[0] not in names:
            kept.append(word)
    return f"mmcore {shlex.join(kept)} {option}".rstrip()


def suggested(option: str) -> str:
    """Return the command that runs now with further options."""
    return command_with(click.get_current_context().meta[_WORDS], option)


def with_other_words(others: Mapping[str, str]) -> str:
    """Return the command that runs now with other words in place of some."""
    words = click.get_current_context().meta[_WORDS]
    return command_with([others.get(word, word) for word in words], "")


def _reason(error: Exception) -> str:
    """Return a sentence on an error that nothing foresaw; the operating system's speak for themselves."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the working directory is gone; change to one that exists"
    if isinstance(error, OSError):
        what = "the output cannot be written" if error.errno in _OF_WRITING else ""
        return ": ".join(str(each) for each in (error.filename or what, error.strerror or described(error)) if each)
    where = f" ({file_and_line})" if (file_and_line := place(error)) else ""
    return f"{described(error)}{where}; mmcore or a plugin did not foresee it, and python -X dev -m mmcore shows where"


def _add_json_option(command: click.Command) -> None:
    """Add ``--json`` to a command whose function takes ``as_json`` and that does not declare the option itself."""
    takes = inspect.signature(command.callback).parameters if command.callback else {}
    if "as_json" in takes and all(param.name != "as_json" for param in command.params):
        json_option(command)


def _checked(returned: Any, name: str | None) -> int:
    """Return the exit status that a command returned. Raises MmcoreError, which names its plugin, for anything else."""
    if returned is None or (type(returned) is int and 0 <= returned <= _LARGEST_STATUS):
        return returned or 0
    registered = registry().commands.get(name or "")
    plugin = f" of plugin {registered.origin}" if registered else ""
    what = f"not an exit status: a whole number from 0 to {_LARGEST_STATUS}, or None for 0"
    raise MmcoreError(f"the command {name}{plugin} returned {quoted(repr(returned))}, {what}")


class _Broken(click.Command):
    """A command that says why, in the help too, it cannot be imported or is no command."""

    def make_context(self, *_: Any, **__: Any) -> NoReturn:
        raise MmcoreError(str(self.short_help)[1:-1])


@click.group(cls=CommandLine, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, prog_name="mmcore", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """CUDA matrix-product kernels, verified before they are timed, with or without a GPU.

    Every command takes --json. Exit status: 0 = right, 1 = wrong (a wrong product, a violation), 2 = could not run or
    reached the time limit before there was a verdict.
    """
    if context.invoked_subcommand is None:
        write(context.get_help())
