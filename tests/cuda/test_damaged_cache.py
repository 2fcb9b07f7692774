"""Damage in the cache's directory: an entry that is not whole is compiled again."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmcore.compile.compiled_module import CompiledModule
from mmcore.files import DATA_BYTES, cache_directory
from mmcore_cuda.nvrtc import plan_compilation
from mmcore_cuda.nvrtc.dependencies import forget
from tests.cache_worker import VARIANTS
from tests.cuda.test_compile_cache import entries
from tests.cuda.test_compiler import SOURCE, planned

Damage = Callable[[Path, bytes], object]
"""Damage to the file of a cache entry, given its content."""


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write a source and use an empty cache directory."""
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    cu_file.write_text(SOURCE)
    forget()
    yield
    forget()


def compiled(source: Path, value: str = "1.0f") -> CompiledModule:
    """Return the code of the source, as another process would."""
    forget()
    return plan_compilation.compile_plan(planned(source, value), "90")


@pytest.fixture
def first(cu_file: Path) -> CompiledModule:
    """Return the source's code, which is now in the cache."""
    return compiled(cu_file)


@pytest.fixture
def entry(first: CompiledModule) -> Path:
    """Return the file of the code's cache entry."""
    (path,) = entries()
    return path


def then(*steps: Callable[[Path], object]) -> Damage:
    """Return a damage of several steps."""
    return lambda path, whole: [step(path) for step in steps]


DAMAGES: dict[str, Damage] = {
    "empty": lambda path, whole: path.write_bytes(b""),
    "a checksum of nothing": lambda path, whole: path.write_bytes(hashlib.sha256(b"").digest()),
    "something else with its checksum": lambda path, whole: path.write_bytes(hashlib.sha256(b"[]").digest() + b"[]"),
    "text": lambda path, whole: path.write_text("{}"),
    "zeros": lambda path, whole: path.write_bytes(bytes(len(whole))),
    "twice as long": lambda path, whole: path.write_bytes(whole * 2),
    "unreadable": lambda path, whole: path.chmod(0),
    "a directory": then(Path.unlink, Path.mkdir),
    "a directory with something in it": then(Path.unlink, Path.mkdir, lambda path: (path / "file").touch()),
    "a file for its directory": then(lambda path: shutil.rmtree(path.parent), lambda path: path.parent.touch()),
    "a pipe": then(Path.unlink, os.mkfifo),
    "a device": then(Path.unlink, lambda path: path.symlink_to("/dev/zero")),
    "larger than any": then(lambda path: os.truncate(path, DATA_BYTES + 1)),
    "a link to nowhere": then(Path.unlink, lambda path: path.symlink_to("nowhere")),
    "a link to itself": then(Path.unlink, lambda path: path.symlink_to(path)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_compiled_again(cu_file: Path, first: CompiledModule, entry: Path, damage: Damage) -> None:
    damage(entry, entry.read_bytes())
    assert compiled(cu_file) == first


def test_a_truncated_or_changed_entry_is_compiled_again(cu_file: Path, first: CompiledModule, entry: Path) -> None:
    whole, rng = entry.read_bytes(), random.Random(1)
    for _ in range(20):
        place = rng.randrange(len(whole))
        changed = whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :]
        entry.write_bytes(rng.choice((whole[:place], changed)))
        assert compiled(cu_file) == first
        assert entry.read_bytes() == whole


def test_another_kernels_entry_is_not_taken_for_this_ones(cu_file: Path, first: CompiledModule, entry: Path) -> None:
    other = compiled(cu_file, "2.0f")
    (path,) = (each for each in entries() if each != entry)
    entry.write_bytes(path.read_bytes())
    assert compiled(cu_file) == first != other


def test_a_cache_whose_directory_was_removed_meanwhile_is_made_again(cu_file: Path, first: CompiledModule) -> None:
    shutil.rmtree(cache_directory())
    assert plan_compilation.compile_plan(planned(cu_file), "90") == first
    assert len(entries()) == 1


def worker(source: Path, seed: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.cache_worker", str(source), str(seed)]
    return subprocess.Popen(words, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)


def _wait_for(directory: Path, pattern: str) -> None:
    deadline = time.monotonic() + 60
    while not any(directory.glob(pattern)):
        assert time.monotonic() < deadline, "nothing came within a minute"
        time.sleep(0.001)


@pytest.mark.slow
def test_killed_writers_leave_a_sound_cache(cu_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their entries are complete, half-written files are not used, and no process waits for a dead one."""
    rng = random.Random(1)
    workers = [worker(cu_file, rng.randrange(1000)) for _ in range(12)]
    for each in workers:
        assert each.stdout is not None
        assert each.stdout.readline() == "compiled\n"
    unfinished = cache_directory() / "entries"
    for number, each in enumerate(workers):
        if number % 2:
            time.sleep(rng.random() / 10)
        else:
            _wait_for(unfinished, f".mmcore-{each.pid}-*")
        each.kill()
        each.communicate()
    assert [*unfinished.glob(".mmcore-*")], "no worker was killed while writing"
    assert entries(), "no worker wrote an entry"

    found = [compiled(cu_file, f"{value}.0f") for value in range(VARIANTS)]
    assert len(entries()) == VARIANTS
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "fresh"))
    forget()
    assert found == [compiled(cu_file, f"{value}.0f") for value in range(VARIANTS)]


def write_with_checksum(entry: Path, body: bytes) -> None:
    entry.write_bytes(hashlib.sha256(bytes.fromhex(entry.name) + body).digest() + body)


def changed(content: Any, path: tuple[str, ...], value: object) -> Any:
    """Return an entry with another value at a path of keys."""
    if not path:
        return value
    return content | {path[0]: changed(content[path[0]] if path[1:] else None, path[1:], value)}


FIELDS = ("architecture", "source", "functions", "cubin", "ptx", "excluded_host_code", "strange")
FOREIGN: tuple[object, ...] = (None, 3, [], {}, "text", {"module": {}})
CHANGES: list[tuple[tuple[str, ...], object]] = [
    *(((), value) for value in FOREIGN),
    *(((name,), value) for name in ("states", "module", "failure") for value in (3, [3], {"a": 3})),
    *((("module", name), 3) for name in FIELDS),
    *((("module", "functions", "f", name), "x") for name in ("registers", "parameter_bytes", "local_bytes")),
]


def test_foreign_content_is_compiled_again(cu_file: Path, first: CompiledModule, entry: Path) -> None:
    content = entry.read_bytes()
    for path, value in CHANGES:
        body = json.dumps(changed(json.loads(content[32:]), path, value)).encode()
        write_with_checksum(entry, body)
        assert compiled(cu_file) == first, body
        assert entry.read_bytes() == content, body
    for body in (b"", b"\xff", b"[" * 100_000, b"NaN"):
        write_with_checksum(entry, body)
        assert compiled(cu_file) == first
