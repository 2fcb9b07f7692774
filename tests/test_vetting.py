"""A third party's plugin that would end, hang or change the process that loads it is set aside, and nothing else is."""

from __future__ import annotations

import json
import os
import time
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

import mmcore as api
from mmcore.vetting.vet import vet
from tests.command_line import install, kernel_module, process


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, and a cache that knows none of them."""
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def installed(site: Path, name: str, source: str) -> EntryPoint:
    """The entry point of a stranger's package of one module."""
    install(site, f"acme-{name}", f"acme.{name}", source)
    return EntryPoint(f"acme.{name}", f"acme_{name}_module", "mmcore")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os; os._exit(0)", "it ends the process that loads it, with status 0"),
        ("import os; os._exit(7)", "it ends the process that loads it, with status 7"),
        ("import ctypes; ctypes.string_at(0)", "the process that loads it is killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "the process that loads it is killed by SIGKILL"),
        (
            "import mmcore.verify.comparison as j; j.judge = lambda *_: None",
            "loading it replaces mmcore.verify.comparison.judge",
        ),
        (
            "from mmcore.verify.comparison import verify_product; judge.__code__ = (lambda *_: None).__code__",
            "loading it replaces mmcore.verify.comparison.judge",
        ),
        ("import mmcore.auditing as a; a._RATIO = 1e9", "loading it replaces mmcore.auditing._RATIO"),
        (
            "from mmcore.outcome import Outcome; Outcome.verified = True",
            "loading it replaces mmcore.outcome.Outcome.verified",
        ),
        (
            "from pytest_benchmark.stats import Stats; Stats.median = property(lambda self: 1e-9)",
            "loading it replaces pytest_benchmark.stats.Stats.median",
        ),
        ("import time; time.perf_counter = lambda: 0.0", "loading it replaces time.perf_counter"),
        ("import numpy; del numpy.abs", "loading it replaces numpy.abs"),
        ("import math; math.sqrt = lambda x: 1e9", "loading it replaces math.sqrt"),
        ("import math, sys; sys.modules['math'] = object()", "loading it replaces math"),
        ("import random; random.Random.sample = None", "loading it replaces random.Random.sample"),
        ("import json; json.dumps = lambda *_: ''", "loading it replaces json.dumps"),
        ("import pathlib; pathlib.Path.open = None", "loading it replaces pathlib.Path.open"),
        ("import operator; del operator.mul", "loading it replaces operator.mul"),
        ("import builtins; builtins.sum = max", "loading it replaces builtins.sum"),
        ("import builtins; builtins.all = lambda _: True", "loading it replaces builtins.all"),
        ("import builtins; builtins.open = None", "loading it replaces builtins.open"),
        (
            "from mmcore.kernel.dtypes import _DTYPES; _DTYPES['float32'] = _DTYPES['float16']",
            "loading it replaces mmcore.kernel.dtypes._DTYPES['float32']",
        ),
        (
            "from mmcore.kernel.dtypes import _DTYPES; _DTYPES['float'] = _DTYPES['float16']",
            "loading it replaces mmcore.kernel.dtypes._DTYPES",
        ),
        (
            "from mmcore_conform.trial import ASPECTS; ASPECTS.popitem()",
            "loading it replaces mmcore_conform.trial.ASPECTS['known-violations']",
        ),
        (
            "from mmcore.pytest_plugin.benchmark_session import _COLUMNS; _COLUMNS.reverse()",
            "loading it replaces mmcore.pytest_plugin.benchmark_session._COLUMNS",
        ),
        (
            "from mmcore_emulator.writer import _NOTHING_TO_DO; _NOTHING_TO_DO.add('bar')",
            "loading it replaces mmcore_emulator.writer._NOTHING_TO_DO",
        ),
    ],
)
def test_what_would_harm_its_process_is_not_loaded(site: Path, source: str, reason: str) -> None:
    bad = installed(site, "bad", source)
    assert vet([bad]) == {bad: reason}


def test_one_that_is_refused_says_nothing_of_the_others(site: Path) -> None:
    plugins = [
        installed(site, "dies", "import os; os._exit(0)"),
        installed(site, "good", kernel_module("acme.good")),
        installed(site, "meddles", "import time; time.time = None"),
        installed(site, "last", kernel_module("acme.last")),
    ]
    assert [plugin.name for plugin in vet(plugins)] == ["acme.dies", "acme.meddles"]


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('no')",
        "import sys; sys.exit(1)",
        "print('x' * 1_000_000)",
        "import sys; sys.stdin.read()",
        "import json, sqlite3, numpy.ma, numpy.testing, pytest",
        "import asyncio, concurrent.futures, ctypes.util, decimal, multiprocessing.pool, unittest.mock, xml.sax",
        "import hypothesis.extra.numpy, matplotlib, setuptools.dist",
        "import warnings; warnings.simplefilter('ignore'); warnings.warn('old')",
        "import re, linecache; re.compile('never (seen) before'); linecache.getlines(__file__)",
        "import logging; logging.captureWarnings(True); logging.basicConfig(); logging.setLoggerClass(logging.Logger)",
        "import sys, threading; sys.excepthook = threading.excepthook = sys.displayhook = lambda *_: None",
        "import sys; sys.modules.pop('colorsys', None); sys.modules['acme_alias'] = sys; sys.path.append('/nowhere')",
        "import typing; typing._collect_parameters = None; typing.Optional[int]",
        "import inspect; inspect.getfile = lambda object: ''",
        "import importlib, sys; [delattr(each, 'find_distributions') for each in sys.meta_path "
        "if getattr(each, '__module__', '').startswith('_frozen') and 'find_distributions' in vars(each)]",
        "import numpy; numpy.random, numpy.ma, numpy.f2py, numpy.ctypeslib",
        "import mimetypes, locale, random, tempfile; mimetypes.init(); random.seed(1); tempfile.gettempdir()",
        "from mmcore.kernel.rules import _unanswered; import mmcore.compile.compiler as c; c._recent[b''] = None",
    ],
)
def test_what_merely_fails_or_prints_is_for_the_registry_to_judge(site: Path, source: str) -> None:
    assert vet([installed(site, "clumsy", source)]) == {}


def test_the_lectures_plugins_replace_nothing(site: Path) -> None:
    plugins = [each for each in entry_points(group="mmcore") if each.dist and each.dist.name == "mmcore"]
    assert len(plugins) > 20
    assert vet(plugins) == {}


def test_what_hangs_is_given_up(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore.vetting.vet.SECONDS", 12.0)
    hangs = installed(site, "hangs", "import time; time.sleep(3600)")
    good = installed(site, "good", kernel_module("acme.good"))
    assert vet([good, hangs]) == {hangs: "loading it does not end within 12 s"}


def test_a_plugin_found_well_is_not_tried_again_until_it_changes(site: Path, tmp_path: Path) -> None:
    trace = tmp_path / "loaded"
    good = installed(site, "good", f"open({str(trace)!r}, 'a').write('x')")
    for _ in range(3):
        assert vet([good]) == {}
    assert trace.read_text() == "x"
    module = site / "acme_good_module.py"
    module.write_text("import os; os._exit(1)")
    os.utime(module, (time.time(), time.time() + 1))
    assert good in vet([good])


def test_one_that_is_refused_is_not_tried_again_for_an_hour(site: Path, tmp_path: Path) -> None:
    trace = tmp_path / "loaded"
    bad = installed(site, "bad", f"open({str(trace)!r}, 'a').write('x'); import os; os._exit(3)")
    for _ in range(3):
        assert vet([bad]) == {bad: "it ends the process that loads it, with status 3"}
    assert trace.read_text() == "x"
    (record,) = (tmp_path / "cache" / "plugins").iterdir()
    os.utime(record, (time.time() - 3601,) * 2)
    assert set(vet([bad])) == {bad}
    assert trace.read_text() == "xx"


def test_without_a_cache_every_plugin_is_tried_each_time(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", "/dev/null/nowhere")
    bad = installed(site, "bad", "import os; os._exit(0)")
    good = installed(site, "good", kernel_module("acme.good"))
    for _ in range(2):
        assert set(vet([bad, good])) == {bad}


def test_commands_work_beside_it_and_say_why_it_is_set_aside(site: Path) -> None:
    installed(site, "bad", "import os; os._exit(0)")
    result = process("list-kernels", "--json", PYTHONPATH=str(site))
    assert result.returncode == 0
    assert len(json.loads(result.stdout)) == len(api.kernels())
    assert result.stderr == (
        "warning: plugin acme.bad of acme-bad is set aside: it ends the process that loads it, with status 0\n"
    )


def test_a_source_outside_the_package_is_refused(tmp_path: Path) -> None:
    site = tmp_path / "site"
    package = site / "acme_kernels"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    module = kernel_module("acme.stray").replace('__file__.replace(".py", ".cu")', "'/etc/passwd'")
    (package / "stray.py").write_text(module)
    (package / "own.py").write_text(kernel_module("acme.own"))
    metadata = site / "acme_kernels-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-kernels\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mmcore]\na = acme_kernels.stray\nb = acme_kernels.own\n")
    result = process("list-kernels", "--json", PYTHONPATH=str(site))
    names = {kernel["name"] for kernel in json.loads(result.stdout)}
    assert "acme.own" in names
    assert "acme.stray" not in names
    assert f"the source of acme.stray, /etc/passwd, lies outside its package {package}" in result.stderr
