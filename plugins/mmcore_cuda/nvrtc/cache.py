"""The compile cache on disk: code, or why a source does not compile, by what it was made of."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.errors import MmcoreError
from mmcore.files import cache_directory, read_bytes, replace

# Changes whenever the same source would give other code, because of new stand-ins for example.
_FORMAT = "mmcore code 17"
_BYTES = 256 << 20


@dataclass(frozen=True)
class Entry:
    """The outcome of a compilation."""

    states: dict[str, str]  # the files that it depends on besides the source, by path, as ``dependencies`` returns them
    module: CompiledModule | None  # the code; None if the source does not compile
    failure: str = ""  # why it does not compile


def cache_key(*parts: str) -> bytes:
    """Return the key of an entry that depends on these texts."""
    key = hashlib.sha256(_FORMAT.encode())
    for part in parts:
        key.update(part.encode(errors="surrogateescape") + b"\0")
    return key.digest()


def read_entry(key: bytes) -> Entry | None:
    """Return the entry of a key; None if there is none, or if it is damaged or another key's."""
    # A cache that cannot be read or written costs only a compilation.
    with contextlib.suppress(OSError, MmcoreError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        path = _path(key)
        content = read_bytes(path)
        if hashlib.sha256(key + content[32:]).digest() == content[:32]:
            os.utime(path)  # the least recently used entry is removed first
            values = json.loads(content[32:])
            entry = Entry(values["states"], _module(values["module"]), values["failure"])
            return entry if _is(Entry, entry) else None
    return None


def _is(kind: Any, value: object) -> bool:
    """Return whether a value, and all in it, has the type that is declared."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_is(parts[0], name) and _is(parts[1], each) for name, each in pairs)
    if origin in (tuple, list):
        return isinstance(value, tuple | list) and type(value) is origin and all(_is(parts[0], each) for each in value)
    if isinstance(kind, type) and is_dataclass(kind):
        fields = get_type_hints(kind).items()
        return isinstance(value, kind) and all(_is(each, getattr(value, name)) for name, each in fields)
    return any(_is(each, value) for each in parts) if parts else type(value) is kind


def _module(values: dict[str, Any] | None) -> CompiledModule | None:
    if values is None:
        return None
    functions = {
        name: CompiledFunction(**{**function, "parameter_bytes": tuple(function["parameter_bytes"])})
        for name, function in values["functions"].items()
    }
    return CompiledModule(**{**values, "functions": functions, "cubin": b64decode(values["cubin"])})


def write_entry(key: bytes, entry: Entry) -> None:
    """Store an entry behind a checksum of it and of its key."""
    values = asdict(entry)
    if entry.module is not None:
        values["module"]["cubin"] = b64encode(entry.module.cubin).decode()
    body = json.dumps(values).encode()
    with contextlib.suppress(OSError, MmcoreError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_room(path.parent, len(body))
        replace(path, hashlib.sha256(key + body).digest() + body)


def _path(key: bytes) -> Path:
    return _entries(os.environ.get("MMCORE_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")) / key.hex()


@functools.cache
def _entries(*environment: str | None) -> Path:
    """Return the folder of the entries in an environment."""
    return cache_directory() / "entries"


def _make_room(folder: Path, size: int) -> None:
    """Remove the entries that were used least recently, so that one of that size has room."""
    files = [(file.stat(follow_symlinks=False), file.path) for file in os.scandir(folder)]
    size += sum(file.st_size for file, _ in files)
    for file, path in sorted(files, key=lambda each: each[0].st_mtime_ns):
        if size <= _BYTES:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        size -= file.st_size
