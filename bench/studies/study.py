"""The frame of a study: its command line, its file of results, the machine it ran on, and its processes."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from mmcore.executor import run as executed
from mmcore.executor.choose_device import device_name
from mmcore_pytest.saved_results import describe

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"

Item = TypeVar("Item")


def run(name: str, arguments: Sequence[str] | None = None) -> int | None:
    """Run a study by its command line, and return its exit status.

    The parameters of its function ``main`` are the arguments: those by keyword alone are options.
    """
    study = importlib.import_module(f"bench.studies.{name}")
    main = (importlib.import_module(f"{study.__name__}.main") if hasattr(study, "__path__") else study).main
    parser = argparse.ArgumentParser(
        prog=f"python -m bench.studies {name}",
        description=study.__doc__,
        epilog=inspect.getdoc(main),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = get_type_hints(main)
    for parameter in inspect.signature(main).parameters.values():
        option = parameter.kind is parameter.KEYWORD_ONLY
        flag = f"--{parameter.name.replace('_', '-')}" if option else parameter.name
        parser.add_argument(flag, **_argument(kinds[parameter.name], parameter, option))
    return main(**vars(parser.parse_args(arguments)))  # type: ignore[no-any-return]


def _argument(kind: Any, parameter: inspect.Parameter, option: bool) -> dict[str, Any]:
    """Return how argparse reads a parameter: a flag, one of several words, any number of values, or one value."""
    if kind is bool:
        return {"action": "store_true"}
    several = get_origin(kind) is Sequence
    values = get_args(kind)
    how: dict[str, Any] = (
        {"choices": values} if get_origin(kind) is Literal else {"type": values[0] if values else kind}
    )
    optional = parameter.default is not parameter.empty
    if several or (optional and not option):
        how["nargs"] = "*" if several and optional else "+" if several else "?"
    return how | {"default": parameter.default} if optional else how


def write(path: Path, head: Mapping[str, Any], **lists: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of results: JSON whose lists have a row on each line, so that differences are easy to read."""
    text = json.dumps(head, indent=1).removesuffix("\n}")
    for name, rows in lists.items():
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        text += f',\n "{name}": [\n{lines}\n ]'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n}}\n", encoding="utf-8")


def machine_info(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the head of results that were measured on a device with these facts."""
    machine: dict[str, Any] = {}
    describe(machine, facts)
    return {"machine_info": machine}


def facts_of(device: str) -> Mapping[str, Any]:
    """Return the facts of a device, asked in a worker process."""
    facts: Mapping[str, Any] = executed(device_name(device), "mmcore.executor.worker:describe")["facts"]
    return facts


def printed_rows(
    function: Callable[[Item], dict[str, Any]], items: Iterable[Item], jobs: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield a row for each item, in order, made in ``jobs`` processes; print each as JSON."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(function, items):
            print(json.dumps(row, ensure_ascii=False), flush=True)
            yield row
