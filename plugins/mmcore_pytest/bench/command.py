"""``mmcore bench``: benchmark kernels with pytest, from any folder."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from mmcore.cli.commandline import suggested
from mmcore.cli.kernel_param import KernelParam, given_file_facts, refuse_file_options
from mmcore.cli.options import block_option, config_option
from mmcore.cli.output import json_option, loaded_registry, write_json
from mmcore.errors import MmcoreError, SeveralKernels
from mmcore.kernel.configs import BLOCK
from mmcore.kernel_reference import KernelReference, is_file
from mmcore.messages import say, visible
from mmcore_pytest.plugin import run_of

_TESTS = Path(__file__).with_name("test_kernels.py")
_SETTINGS = Path(__file__).parent.with_suffix(".ini")
_GROUPS = re.compile(r"^(?:benchmark|mmcore[^\n]*):\n.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_STATUS = {pytest.ExitCode.OK: 0, pytest.ExitCode.TESTS_FAILED: 1}
_PREFIXED = ("size", "device", "timeout", "memory", "baseline", "against", "inputs")  # options of other commands
_COULD_NOT_RUN, _INTERRUPTED = 2, 130


class _Kernels:
    """A plugin of pytest that takes its positional arguments for kernels, and keeps the results.

    ``facts`` describe the kernels in files.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self.interrupted = False
        self.results: list[dict[str, Any]] = []
        self.not_measured: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        tests, *words = config.args
        registry = loaded_registry()
        try:
            kernels = [each for word in words for each in self._references(word)]
            selected, _ = registry.matching(kernels) if kernels else ([], [])
        except MmcoreError as error:
            commands = [f"  {suggested(option)}" for option in error.options]
            raise pytest.UsageError(visible("\n".join([str(error), *commands]))) from None
        except click.UsageError as error:
            raise pytest.UsageError(error.message) from None
        for kernel in selected if config.get_verbosity() >= 0 else ():
            if file := registry.files.get(kernel.name):
                say(file.inferred)
        if kernels:
            config.option.mm_kernel = [*(config.option.mm_kernel or ()), kernels]
        config.args = [tests]

    def _references(self, word: str) -> Sequence[KernelReference]:
        """Return a name or pattern, or a reference to each kernel of a file that may be a matrix product."""
        registry = loaded_registry()
        if not is_file(word) or word in registry.kernels:
            refuse_file_options(f"{word} is declared by a package")
            return [word]
        try:
            registry.kernel(reference := {"file": word, **self._facts})
        except SeveralKernels as several:
            return several.references
        return [reference]

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


class _Words(KernelParam):
    """Words of pytest's command line, kernels among them, which are read later."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


class _Bench(click.Command):
    """A command whose help ends with the options that pytest adds for it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            pytest.main([*_arguments(), "--help"])
        for group in sorted(_GROUPS.findall(text.getvalue()), reverse=True):
            formatter.write(f"\nOptions of pytest, {group}")


@click.command(cls=_Bench, context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="[KERNEL]... [OPTION OF PYTEST]...", nargs=-1, type=_Words())
@block_option
@config_option
@json_option
def bench(words: tuple[str, ...], block: str | None, configs: Sequence[Mapping[str, Any]], as_json: bool) -> int:
    """Verify and measure kernels as benchmarks of pytest.

    KERNEL is a name, a pattern with * and ?, or a file; all registered kernels by default. All options of pytest and of
    its plugins are allowed. Runs are saved in .benchmarks in this folder. With --benchmark-compare, times are shown
    beside a saved run's; without a GPU, a grown count or a lower occupancy is an error. A product that is too large for
    the emulator is verified at a small size, and its time is predicted.
    """
    for word in words:
        if word.startswith("--") and (name := word[2:].partition("=")[0]) in _PREFIXED:
            raise click.UsageError(f"--{name} is called --mm-{name} here")
    launch = ({BLOCK: block} if block else {}) | ({"configs": configs} if configs else {})
    kernels = _Kernels({**given_file_facts(), **launch})
    selected = [f"--mm-block={block}"] if block else []
    selected += [f"--mm-config={name}={value}" for config in configs for name, value in config.items()]
    status = pytest.main([*_arguments(), *words, *selected], plugins=[kernels])
    if as_json:
        write_json({"results": kernels.results, "not_measured": kernels.not_measured})
    return _INTERRUPTED if kernels.interrupted else _STATUS.get(pytest.ExitCode(status), _COULD_NOT_RUN)


def _arguments() -> list[str]:
    """Return pytest's arguments for the benchmark, independent of the folder's own settings and conftest.py."""
    cache = Path(".pytest_cache").absolute()
    return [str(_TESTS), "-c", str(_SETTINGS), "-o", f"cache_dir={cache}", "--noconftest", "--no-header"]
