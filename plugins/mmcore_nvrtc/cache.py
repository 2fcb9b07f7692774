"""The on-disk cache: code by what it was made of, and why a source does not compile."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mmcore.cache_directory import cache_directory
from mmcore.compile.compiled_module import CompiledFunction, CompiledModule

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

# It changes with what is made of a source, the stand-ins included.
_FORMAT = "mmcore code 7"
_BYTES = 256 << 20


@dataclass(frozen=True)
class Entry:
    """What a compilation came to.

    Attributes:
        states: the files that it depends on besides the source, by path, as ``dependencies`` returns them.
        module: the code; None where the source does not compile.
        failure: why it does not.
    """

    states: dict[str, str]
    module: CompiledModule | None
    failure: str = ""


def cache_key(*parts: str) -> bytes:
    """The key of what depends on these texts."""
    key = hashlib.sha256(_FORMAT.encode())
    for part in parts:
        key.update(part.encode(errors="surrogateescape") + b"\0")
    return key.digest()


@functools.cache
def program_cache() -> FileStreamProgramCache | None:
    """The files of the cache, or None where its directory cannot be made."""
    from cuda.core.utils import FileStreamProgramCache

    try:
        return FileStreamProgramCache(cache_directory(), max_size_bytes=_BYTES)
    except (OSError, RuntimeError):  # Path.home() knows no home
        return None


def read_entry(key: bytes) -> Entry | None:
    """The entry of that key; None where there is none, or it is damaged or another's, and must be compiled."""
    # A cache that cannot be read or written costs a compilation, not the result.
    with contextlib.suppress(OSError):
        entry = cache.get(key) if (cache := program_cache()) is not None else None
        if entry is not None and hashlib.sha256(key + entry[32:]).digest() == entry[:32]:
            values = json.loads(entry[32:])
            return Entry(values["states"], _module(values["module"]), values["failure"])
    return None


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
    with contextlib.suppress(OSError):
        if (cache := program_cache()) is not None:
            cache[key] = hashlib.sha256(key + body).digest() + body
