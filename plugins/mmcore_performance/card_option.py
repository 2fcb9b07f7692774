"""The option ``--card`` of commands that predict times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mmcore_performance.cards import cards

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _CardName(click.Choice[str]):
    """The name of a card, in any case and with or without its spaces."""

    def __init__(self) -> None:
        super().__init__([*cards()])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        by_word = {_word(name): name for name in cards()}
        return super().convert(by_word.get(_word(value), value), param, ctx)


def _word(name: str) -> str:
    return name.replace(" ", "").casefold()


def card_option(text: str = "For predicted times.") -> Callable[[_Command], _Command]:
    """Return the option ``--card``, with its help ``text``."""
    return click.option("--card", type=_CardName(), default="H200", show_default=True, help=text)
