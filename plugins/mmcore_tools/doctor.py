"""The command ``mmcore doctor``: it reports whether this machine can run kernels."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import click

from mmcore.cli.output import fields, json_option, quiet_option, render, write_json
from mmcore.compile.compiler import Compiler
from mmcore.devices.base import DeviceProvider
from mmcore.errors import described
from mmcore.executor.choose_device import device_name
from mmcore.files import cache_directory
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.missing_source import advice_about, lacks_source
from mmcore.registry import DISTRIBUTION, registry

_NAMESAKE = """\
another project called mmcore ({}) is installed and may hide this one, whose distribution is mmcore-cuda: \
python -m pip uninstall mmcore, then install mmcore-cuda again"""

_FAULTS = ("failed", "duplicates", "missing", "conflict")  # facts that are faults


@click.command()
@quiet_option
@json_option
def doctor(quiet: bool, as_json: bool) -> int:
    """Report the installation and anything that it lacks."""
    findings = examine()
    if as_json:
        write_json(findings)
    else:
        problems = [name for name, each in findings["compilers"].items() if each["problem"]]
        compiled = any(each["version"] for each in findings["compilers"].values())
        lacking = [] if compiled else [" or ".join(problems) or "a compiler"]
        lacking += [] if any(each["count"] for each in findings["devices"]) else ["a device"]
        missing = " and ".join(lacking)
        answer = f"No kernel can be run here: {missing} is missing." if missing else "Kernels can be run here."
        rows = [row for row in _facts(findings) if row[1] and (row[0] in _FAULTS or not quiet)]
        render(*((fields(rows), "") if rows else ()), answer)
    return 0 if findings["can_run"] else 1


def examine() -> dict[str, Any]:
    """Return the state of everything that a run needs. Anything missing or broken is reported, not raised."""
    found = registry()
    compilers = {name: _compiler(registered.item) for name, registered in found.compilers.items()}
    devices = [_device(registered.item) for registered in found.providers.values()]
    auto, auto_problem = _attempt(lambda: device_name("auto"))
    required, _ = _attempt(_dependencies)
    return {
        "can_run": any(each["version"] for each in compilers.values()) and any(device["count"] for device in devices),
        "python": platform.python_version(),
        "executable": sys.executable,
        "mmcore": _version(DISTRIBUTION),
        "namesake": _version("mmcore"),
        "dependencies": {name: _version(name) for name in required or ()},
        "compilers": compilers,
        "devices": devices,
        "auto": {"device": auto, "problem": auto_problem},
        "cache": _cache(),
        "distributions": dict(sorted(Counter(each.origin.distribution for each in found.kernels.values()).items())),
        "commands": {name: str(each.origin) for name, each in sorted(found.commands.items())},
        "failed": [{**each.origin._asdict(), "reason": each.reason} for each in found.failed],
        "duplicates": found.conflicts(),
        "missing": [_missing(each.item) for each in found.kernels.values() if lacks_source(each.item)],
    }


def _missing(kernel: Kernel) -> str:
    return f"{kernel.name}: its source {kernel.source} does not exist{advice_about(kernel.source)}"


def _attempt(query: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return a query's result and None, or None and its error: a third party's code may raise anything."""
    try:
        return query(), None
    except (Exception, SystemExit) as error:
        return None, described(error).rstrip(".")


def _compiler(compiler: Compiler) -> dict[str, Any]:
    version, problem = _attempt(compiler.version)
    findings, _ = _attempt(lambda: {str(name): str(text) for name, text in compiler.findings().items()})
    return {"version": version, "problem": problem, "findings": findings or {}}


def _device(provider: DeviceProvider) -> dict[str, Any]:
    count, count_problem = _attempt(provider.count)
    findings, problem = _attempt(lambda: {str(name): str(text) for name, text in provider.findings().items()})
    problem = count_problem or problem
    return {"name": provider.name, "count": count or 0, "findings": findings or {}, "problem": problem}


def _dependencies() -> list[str]:
    """Return the names of the packages that mmcore requires, without those of its extras."""
    required = importlib.metadata.requires(DISTRIBUTION) or []
    return sorted({re.split(r"[^\w.-]", each)[0] for each in required if "extra ==" not in each})


def _version(distribution: str) -> str | None:
    version: str | None = _attempt(lambda: importlib.metadata.version(distribution))[0]
    return version


def _cache() -> dict[str, Any]:
    directory, problem = _attempt(cache_directory)
    if directory is None:
        return {"directory": None, "writable": False, "megabytes": 0.0, "problem": problem or "there is no such place"}
    made_in = next(each for each in (directory, *directory.parents) if os.path.exists(each))
    writable = made_in.is_dir() and os.access(made_in, os.W_OK)
    size, _ = _attempt(lambda: sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()))
    problem = None if writable else f"{made_in} is not writable"
    return {"directory": str(directory), "writable": writable, "megabytes": (size or 0) / 1e6, "problem": problem}


def _facts(findings: dict[str, Any]) -> list[tuple[str, str]]:
    cache, auto = findings["cache"], findings["auto"]
    written, problem = f"writable, {cache['megabytes']:.1f} MB", cache["problem"]
    state = f"{problem}; every kernel is compiled each time" if problem else written
    devices = [f"{name}: {text}" for each in findings["devices"] for name, text in each["findings"].items()]
    devices += [f"{each['name']}: {each['problem']}" for each in findings["devices"] if each["problem"]]
    found = findings["compilers"].items()
    compilers = [f"{name}: {text}" for name, each in found if (text := each["version"] or each["problem"])]
    compilers += [f"{name}: {what}: {text}" for name, each in found for what, text in each["findings"].items()]
    plugins = [f"{name}: {n} kernel{'s' * (n != 1)}" for name, n in findings["distributions"].items()]
    rows = {
        "Python": [f"{findings['python']} at {findings['executable']}"],
        "mmcore": [findings["mmcore"] or "is not installed"],
        "packages": [f"{name} {found or 'is not installed'}" for name, found in findings["dependencies"].items()],
        "compilers": compilers,
        "devices": devices or ["no plugin provides any"],
        "auto": [auto["device"] or auto["problem"]],
        "cache": [f"{cache['directory'] or 'none'}: {state}"],
        "plugins": plugins or ["none brings a kernel"],
        "commands": [f"{name}: {origin}" for name, origin in findings["commands"].items()],
        "failed": ["{plugin} of {distribution}: {reason}".format(**each) for each in findings["failed"]],
        "duplicates": findings["duplicates"],
        "missing": findings["missing"],
        "conflict": [_NAMESAKE.format(findings["namesake"])] if findings["namesake"] else [],
    }
    return [(name, "\n".join(lines)) for name, lines in rows.items()]
