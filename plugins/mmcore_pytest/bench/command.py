"""``mmcore bench``: benchmark kernels with pytest, from any folder."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import CompletionItem

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.output import json_option, loaded_registry, write_json
from mmcore.errors import MmcoreError
from mmcore.messages import say, visible
from mmcore_pytest.plugin import run_of

_TESTS = Path(__file__).with_name("test_kernels.py")
_SETTINGS = Path(__file__).parent.with_suffix(".ini")
_GROUPS = re.compile(r"^(?:benchmark|mmcore[^\n]*):\n.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_STATUS = {pytest.ExitCode.OK: 0, pytest.ExitCode.TESTS_FAILED: 1}
_COULD_NOT_RUN, _INTERRUPTED = 2, 130


class _Kernels:
    """A plugin of pytest that takes its positional arguments for kernels, and keeps the results."""

    def __init__(self) -> None:
        self.interrupted = False
        self.results: list[dict[str, Any]] = []
        self.not_measured: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        tests, *kernels = config.args
        registry = loaded_registry()
        try:
            selected, _ = registry.matching(kernels) if kernels else ([], [])
        except MmcoreError as error:
            raise pytest.UsageError(visible(str(error))) from None
        for kernel in selected if config.get_verbosity() >= 0 else ():
            if file := registry.files.get(kernel.name):
                say(file.inferred)
        if kernels:
            config.option.mm_kernel = [*(config.option.mm_kernel or ()), kernels]
        config.args = [tests]

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        # Progress lines begin with bench/test_kernels.py, wherever that is installed.
        if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.startpath = session.config.rootpath

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            self.not_measured[report.nodeid] = reason

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        run = run_of(session.config)
        self.interrupted = run.interrupted
        measured = {test: each.result for test, each in run.benchmarks.items() if each.result}
        self.results = [result.to_json() for result in measured.values()]
        self.not_measured = {test: why for test, why in self.not_measured.items() if test not in measured}


def _complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return KernelParam().shell_complete(context, param, incomplete)


class _Bench(click.Command):
    """A command whose help ends with the options that pytest adds for it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            pytest.main([*_arguments(), "--help"])
        for group in sorted(_GROUPS.findall(text.getvalue()), reverse=True):
            formatter.write(f"\nOptions of pytest, {group}")


@click.command(cls=_Bench, context_settings={"ignore_unknown_options": True})
@click.argument(
    "words", metavar="[KERNEL]... [OPTION OF PYTEST]...", nargs=-1, type=click.UNPROCESSED, shell_complete=_complete
)
@json_option
def bench(words: tuple[str, ...], as_json: bool) -> int:
    """Verify and measure kernels as benchmarks of pytest.

    KERNEL is a name, a pattern with * and ?, or a file; all registered kernels by default. All options of pytest and of
    its plugins are allowed. Runs are saved in .benchmarks in this folder. With --benchmark-compare, times are shown
    beside a saved run's; without a GPU, a count that has grown is an error.
    """
    kernels = _Kernels()
    status = pytest.main([*_arguments(), *words], plugins=[kernels])
    if as_json:
        write_json({"results": kernels.results, "not_measured": kernels.not_measured})
    return _INTERRUPTED if kernels.interrupted else _STATUS.get(pytest.ExitCode(status), _COULD_NOT_RUN)


def _arguments() -> list[str]:
    """Return pytest's arguments for the benchmark, independent of the folder's own settings and conftest.py."""
    cache = Path(".pytest_cache").absolute()
    return [str(_TESTS), "-c", str(_SETTINGS), "-o", f"cache_dir={cache}", "--noconftest", "--no-header"]
