"""The frame of a study: its command line, its file of results, the machine it ran on, and its processes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from mmcore.executor import run as executed
from mmcore.executor.choose_device import device_name
from mmcore_pytest.saved_results import describe

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"

Item = TypeVar("Item")


def command_line(name: str, description: str | None, *, jobs: bool = False, **folders: str) -> argparse.ArgumentParser:
    """Return the parser of a study's command line: ``[FOLDER…] RESULTS [--jobs N]``.

    Args:
        name: the study's module.
        description: its documentation.
        jobs: adds the number of processes.
        folders: help texts of the folders that the study reads, by name.
    """
    parser = argparse.ArgumentParser(prog=f"python -m bench.studies.{name}", description=description)
    for folder, text in folders.items():
        parser.add_argument(folder, type=Path, help=text)
    parser.add_argument("results", type=Path, help="JSON file to write")
    if jobs:
        parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser


def results_text(head: Mapping[str, Any], **lists: Iterable[Mapping[str, Any]]) -> str:
    """Return a file of results: JSON whose lists have a row on each line, so that differences are easy to read."""
    opening = json.dumps(head, indent=1).removesuffix("\n}")
    bodies = []
    for name, rows in lists.items():
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        bodies.append(f',\n "{name}": [\n{lines}\n ]')
    return f"{opening}{''.join(bodies)}\n}}\n"


def write(path: Path, head: Mapping[str, Any], **lists: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(results_text(head, **lists), encoding="utf-8")


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
