"""``mmcore show``: one kernel, with its rule, an example and its source, and on request with what each line does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mmcore.cli import launch_rule
from mmcore.cli.kernels import USUAL_SIZE, argument_text, blocks, sentences, summary
from mmcore.cli.options import block_option, size_option, with_usual_size
from mmcore.cli.output import fields, json_option, loaded_registry, on_terminal, render, write_json
from mmcore.kernel.declaration import Kernel
from mmcore.registry import Registered

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.syntax import Syntax

    from mmcore_emulator.profile.profile import Profile


@click.command()
@click.argument("kernel")
@click.option("--profile", is_flag=True, help="Show instructions, sectors and conflicts beside each line.")
@size_option(USUAL_SIZE)
@block_option
@json_option
def show(kernel: str, profile: bool, size: int | None, block: str | None, as_json: bool) -> int:
    """Show a kernel: where it comes from, its rule, its source."""
    if not profile and (size is not None or block is not None):
        raise click.UsageError("--size and --block say what is profiled; they go with --profile")
    registry = loaded_registry()
    found = registry.kernel(kernel)
    registered = registry.kernels[kernel]
    source_text = found.source_text()
    profiled = _profiled(found, size, block) if profile else None
    if as_json:
        write_json(_document(registered, source_text) | ({"profile": profiled.to_json()} if profiled else {}))
    else:
        source = _profiled_listing(profiled, source_text) if profiled else _listing(source_text, "cuda")
        render(
            f"{found.name}: {found.title}\n",
            fields(_facts(registered)),
            "\nlaunch rule:\n",
            _listing(launch_rule.source(found), "python"),
            f"\n{found.source}:\n",
            source,
        )
    return 0


def _profiled(kernel: Kernel, size: int | None, block: str | None) -> Profile:
    from mmcore_emulator.api import profile

    return profile(kernel, **with_usual_size(kernel, {"size": size, "block": block}, USUAL_SIZE))


def _document(registered: Registered, source_text: str) -> dict[str, object]:
    kernel = registered.kernel
    return summary(registered) | {
        "entry": kernel.entry,
        "arguments": [argument_text(argument) for argument in kernel.arguments],
        "accumulator": kernel.accumulator,
        "output": kernel.output,
        "launch_rule": launch_rule.source(kernel),
        "source_text": source_text,
    }


def _facts(registered: Registered) -> list[tuple[str, str]]:
    kernel = registered.kernel
    return [
        ("lecture", kernel.lecture),
        ("operation", kernel.operation),
        ("types", f"{kernel.dtype} in, summed in {kernel.accumulator}, {kernel.output} out"),
        ("entry", "\n".join(launch_rule.entries(kernel))),
        ("blocks", blocks(kernel)),
        ("needs", "\n".join(sentences(kernel))),
        ("known violations", "\n".join(kernel.known_bugs)),
        ("rule in words", launch_rule.in_words(kernel)),
        ("for example", "\n".join(launch_rule.examples(kernel))),
        ("plugin", f"{registered.plugin} of {registered.distribution}"),
    ]


def _listing(code: str, language: str) -> RenderableType:
    """Numbered lines: coloured, and wrapped to its width, on a terminal; as they are elsewhere."""
    if not on_terminal():
        lines = code.splitlines()
        return "\n".join(f"{number:>{len(str(len(lines)))}}  {line}" for number, line in enumerate(lines, start=1))
    return _syntax(code, language)


def _syntax(code: str, language: str) -> Syntax:
    from rich.syntax import Syntax

    return Syntax(code.rstrip(), language, theme="ansi_dark", line_numbers=True, word_wrap=True)


def _profiled_listing(profile: Profile, code: str) -> RenderableType:
    """The source, with what the launches do in each line."""
    from rich.console import Group

    from mmcore_emulator.profile.report import source_table

    lines = _syntax(code, "cuda").highlight(code.rstrip()).split("\n")
    launch = profile.plan.launches[0]
    extent = "every block" if profile.exact else f"{profile.blocks_run} of {profile.blocks} blocks, which did the same"
    heading = (
        f"{profile.plan.problem} in {launch.block_dim} blocks, counted over {extent}; instructions are those of warps\n"
    )
    return Group(heading, source_table(profile, lines))
