"""What a launch rule or a constraint raises is one sentence with its place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

import mmcore
from mmcore import Config, InvalidKernel, Launch, Problem
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.launch import asking
from mmcore.planning.plan import plan
from mmcore.tracebacks import place
from tests.own_kernel import own

FOR = r"\(test_asking\.py:\d+, for 8×8×8 with block=32x1\)"


def divide(*asked: object) -> float:
    return 1 / 0


def leave(*asked: object) -> NoReturn:
    raise SystemExit(3)


def no_launch(problem: Problem, config: Config, device: Any) -> Launch:
    return Launch(grid="all", block=config.block)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (divide, f"its launch rule failed: ZeroDivisionError: division by zero {FOR}"),
        (leave, f"its launch rule failed: SystemExit: 3 {FOR}"),
        (no_launch, f"its launch rule: the grid 'all' is not one to three whole numbers, such as (16, 16) {FOR}"),
        (lambda *asked: 7, "its launch rule returned 7, not a Launch or several"),
        (lambda *asked: [], r"its launch rule returned \[\], not a Launch or several"),
    ],
    ids=["raises", "exits", "no launch", "a number", "nothing"],
)
def test_what_a_launch_rule_does_wrong_is_one_sentence(cu_file: Path, rule: Callable[..., Any], said: str) -> None:
    kernel = replace(own(cu_file, ""), launch=rule)
    with pytest.raises(InvalidKernel, match=rf"^tests\.own: {said.replace('(16, 16)', '.16, 16.')}$"):
        plan(kernel, kernel.problem(8, 8, 8), kernel.usual_configs[0], open_device("emulator").properties)


@dataclass(frozen=True)
class Failing:
    """A constraint that cannot tell."""

    description: str = "whatever it is"

    def violation(self, problem: Problem, config: Config) -> str | None:
        raise KeyError("n")


def test_what_a_constraint_raises_is_one_sentence(cu_file: Path) -> None:
    kernel = own(cu_file, "", constraints=(Failing(),))
    with pytest.raises(InvalidKernel, match=rf"^tests\.own: a constraint failed: KeyError: 'n' {FOR}$"):
        kernel.violations(kernel.problem(8, 8, 8), kernel.usual_configs[0])


def test_ctrl_c_is_the_users() -> None:
    with pytest.raises(KeyboardInterrupt), asking("the test", "nothing"):
        raise KeyboardInterrupt


def test_what_answers_is_left_alone() -> None:
    with contextlib.suppress(MmcoreError), asking("the test", "nothing"):
        answered = True
    assert answered


def raised_in(*files: str) -> str:
    """The place of an error raised through functions in these files, each called by the one before."""
    made: dict[str, Any] = {}
    for file, what in zip(reversed(files), ["1 / 0", *["call()"] * len(files)], strict=False):
        exec(compile(f"\n\ndef called(): {what}", file, "exec"), made := {"call": made.get("called")})
    with pytest.raises(ZeroDivisionError) as raised:
        made["called"]()
    return place(raised.value.with_traceback(raised.tb.tb_next))


STANDARD, OURS = Path(os.__file__).parent, Path(mmcore.__file__).parent


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["/acme/rule.py"], "rule.py:3"),
        (["/acme/rule.py", "/acme/tiles.py"], "tiles.py:3"),
        (["/acme/rule.py", f"{STANDARD}/json/decoder.py"], "rule.py:3"),
        (["/acme/rule.py", f"{OURS}/kernel/launch.py"], "rule.py:3"),
        (["/acme/rule.py", "/site/pluggy/_callers.py", "<string>"], "rule.py:3"),
        ([f"{STANDARD}/site-packages/acme/rule.py", f"{OURS}/registry.py"], "rule.py:3"),
        ([f"{STANDARD}/dist-packages/acme/rule.py"], "rule.py:3"),
        ([f"{STANDARD}/site-packages/pluggy/_callers.py", f"{OURS}/registry.py", f"{STANDARD}/abc.py"], ""),
    ],
)
def test_the_place_of_an_error_is_the_innermost_call_of_the_plugins_own(files: list[str], said: str) -> None:
    assert raised_in(*files) == said
