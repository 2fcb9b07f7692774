"""The command ``mmcore``."""

from __future__ import annotations

import gc

# What a command loads lives as long as its process: searching it for garbage takes a tenth of list-kernels' time.
gc.set_threshold(50_000)

import click  # noqa: E402

from mmcore.cli.commandline import CommandLine  # noqa: E402


@click.group(cls=CommandLine, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mmcore-cuda", prog_name="mmcore", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """CUDA matrix-product kernels, verified before they are timed, on a GPU or an emulator.

    Every command takes --json. The exit status is 0 on success, 1 when the answer is no (a wrong product, a violation),
    and 2 when the request cannot be carried out or the time limit was reached.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
