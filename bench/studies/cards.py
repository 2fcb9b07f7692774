"""``pytest bench/`` on each of two cards alone, on both together, on a Ray of two nodes, and with one card taken away.

Each run is added to the results and replaces an earlier one of that name.

warm           both cards, as briefly as possible, so that everything is compiled.
first, second  one card alone.
again          the first card alone, once more, for the spread of its medians from run to run.
both           both cards.
killed         both, and each worker process of the second card is killed once a third of the cells is measured.
ray            a Ray of two nodes on this machine, with a card each.
ray-killed     the same, and all processes of the second node are killed once a third of the cells is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.studies.study import write

PORT = 6391
_POLL_SECONDS = 0.05
_NODE_SECONDS = 60.0
_RAY_MEMORY = "200000000"
_SAID = "^measured | cards differ by | than the median card$| is left out: "


def main(
    results: Path, names: Sequence[str], *, devices: str = "cuda:0,cuda:1", options: str = "--mm-size 1024 --mm-spread"
) -> None:
    """Make the runs of these names on the two devices, with options of pytest, and write the results after each."""
    for name in names:
        add(results, name, options, RUNS[name](devices.split(","), options.split()))


def add(path: Path, name: str, options: str, made: Mapping[str, Any]) -> None:
    """Add a run to the results, and remove an earlier one of that name."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": [], "cells": []}
    runs = [run for run in document["runs"] if run["run"] != name]
    figures = {key: value for key, value in made.items() if key not in ("cells", "machine_info")}
    runs.append({"run": name, "options": options, **figures})
    rows = {row["test"]: row for row in document["cells"]}
    for row in rows.values():
        row.pop(name, None)
    for test, measured in made["cells"].items():
        rows.setdefault(test, {"test": test})[name] = measured
    write(path, {"machine_info": made["machine_info"]}, runs=runs, cells=rows.values())


def bench(
    options: Sequence[str], place: Callable[[str], str] = str, kill: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Run ``pytest bench/``; return its seconds, messages, and each cell's card, median in µs and clock in MHz.

    Args:
        options: of pytest.
        place: returns the card of a worker.
        kill: called repeatedly once a third of the cells is measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        saved, printed = Path(folder, "saved.json"), Path(folder, "printed")
        own = ["-o", f"cache_dir={folder}/cache", f"--benchmark-json={saved}", "-rf"]
        command = [sys.executable, "-m", "pytest", "bench/", *own, *options]
        began = time.monotonic()
        with printed.open("w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
            while process.poll() is None:
                time.sleep(_POLL_SECONDS)
                if kill is not None and _measured(folder) > _collected(printed) / 3 > 0:
                    kill()
        seconds = time.monotonic() - began
        text = printed.read_text()
        print(text, flush=True)
        document = json.loads(saved.read_text(encoding="utf-8"))
    cells = {each["name"]: _cell(each, place) for each in document["benchmarks"]}
    return {
        "seconds": round(seconds, 1),
        "outcomes": re.findall(r"^=+ (.*) in [\d.]+s.* =+$", text, re.MULTILINE)[-1],
        "results": len(document["benchmarks"]),
        "said": [line for line in text.splitlines() if re.search(_SAID, line)],
        "machine_info": {"mmcore": document["machine_info"]["mmcore"]},
        "cells": cells,
    }


def _cell(saved: Mapping[str, Any], place: Callable[[str], str]) -> list[Any]:
    info = saved["extra_info"]
    median = round(1e6 * saved["stats"]["median"], 3)
    return [place(info.get("place") or info["device"]), median, info["conditions"].get("clock_mhz")]


def _measured(folder: str) -> int:
    """Return the number of cells in the journal."""
    return sum(len(path.read_bytes().splitlines()) for path in Path(folder, "cache", "d", "mmcore").glob("*.jsonl"))


def _collected(printed: Path) -> int:
    found = re.search(r"^collected (\d+) items", printed.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def _kill_workers(device: str) -> None:
    """Kill each process that measures on a device."""
    for number, _, words in _processes():
        if words[2:5] == ["-m", "mmcore.executor", device]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def on_ray(kills: bool, devices: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """Run the bench on a Ray that has a node for each of the two devices."""
    device = devices[0].partition(":")[0]
    where = ["--mm-engine", "ray", "--mm-engine-address", f"127.0.0.1:{PORT}", "--mm-device", device]
    with _nodes(*devices) as nodes:
        cards = {node.identity: node.device for node in nodes}
        kill = partial(_kill_node, nodes[1].process) if kills else None
        return bench([*where, *options], lambda worker: _card(worker, cards), kill)


class _Node(NamedTuple):
    device: str
    identity: str
    process: subprocess.Popen[bytes]


def _card(worker: str, cards: Mapping[str, str]) -> str:
    """Return the card of a worker; the worker's name contains the beginning of its node's identity."""
    host = worker.partition(" ")[0]
    return next(card for identity, card in cards.items() if host.endswith(f"-{identity[:6]}"))


@contextlib.contextmanager
def _nodes(*devices: str) -> Iterator[list[_Node]]:
    """Start Ray's nodes, each with one of the devices; the first node is the head."""
    nodes: list[_Node] = []
    with contextlib.ExitStack() as running:
        for device in devices:
            kind, _, number = device.partition(":")
            gpus = 1 if kind == "cuda" else 0
            head = ["--head", "--port", str(PORT), "--include-dashboard", "false"]
            place = ["--address", f"127.0.0.1:{PORT}"] if nodes else head
            counts = ["--num-gpus", str(gpus), "--num-cpus", str(2 if gpus else 1)]
            counts += ["--object-store-memory", _RAY_MEMORY, "--disable-usage-stats", "--block"]
            seen = {"CUDA_VISIBLE_DEVICES": number} if gpus else {}
            command = [sys.executable, "-m", "ray.scripts.scripts", "start", *place, *counts]
            process = subprocess.Popen(command, env={**os.environ, **seen}, stdout=subprocess.DEVNULL)
            running.callback(_kill_node, process)
            nodes.append(_Node(device, _new_identity({node.identity for node in nodes}), process))
        yield nodes


def _new_identity(known: Set[str]) -> str:
    """Wait for a node to join and return its identity."""
    asked = (
        f"import ray; ray.init('127.0.0.1:{PORT}', logging_level='ERROR'); print(*(n['NodeID'] for n in ray.nodes()))"
    )
    end = time.monotonic() + _NODE_SECONDS
    while time.monotonic() < end:
        answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
        for identity in set(answer.stdout.split()) - known:
            return identity
        time.sleep(0.5)
    raise SystemExit(f"no node has joined Ray after {_NODE_SECONDS:g} s: {answer.stderr[-500:]}")


def _kill_node(node: subprocess.Popen[bytes]) -> None:
    """Kill all processes of a node, unless they are dead already."""
    for number in (*_descendants(node.pid), node.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    node.wait()


def _processes() -> Iterator[tuple[int, int, list[str]]]:
    """Yield the id of each process of this machine, its parent's id, and the words of its command."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            yield int(path.name), parent, (path / "cmdline").read_text(errors="replace").split("\0")


def _descendants(number: int) -> list[int]:
    children = [child for child, parent, _ in _processes() if parent == number]
    return [each for child in children for each in (*_descendants(child), child)]


def alone(number: int, devices: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    return bench(["--mm-device", devices[number], *(each for each in options if each != "--mm-spread")])


def both(devices: Sequence[str], options: Sequence[str], kill: Callable[[], None] | None = None) -> dict[str, Any]:
    return bench(["--mm-device", ",".join(devices), *options], kill=kill)


_BRIEFLY = ("--benchmark-max-time", "0.001", "--mm-baseline", "none", "--mm-spread")
RUNS: dict[str, Callable[[Sequence[str], Sequence[str]], dict[str, Any]]] = {
    "warm": lambda devices, options: both(devices, [*_BRIEFLY, *options]),
    "first": partial(alone, 0),
    "second": partial(alone, 1),
    "again": partial(alone, 0),
    "both": both,
    "killed": lambda devices, options: both(devices, options, lambda: _kill_workers(devices[1])),
    "ray": partial(on_ray, False),
    "ray-killed": partial(on_ray, True),
}
