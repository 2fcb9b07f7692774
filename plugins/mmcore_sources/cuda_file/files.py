"""The kernel of a file, from its path and the options that the user gave."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.devices.violations import Violation
from mmcore.errors import InvalidKernel, LacksOption, NoKernel, SeveralKernels
from mmcore.files import read_text
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import Sizes
from mmcore.kernel_reference import FileKernel
from mmcore.registry import referenced_kernel
from mmcore_cuda.nvrtc.dependencies import dependencies
from mmcore_sources.cuda_file.host_bugs.find import bugs_of_refused, host_bugs
from mmcore_sources.cuda_file.host_bugs.given_macros import with_macros
from mmcore_sources.cuda_file.inference.fixed_sizes import compiled_for
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from mmcore_sources.cuda_file.inference.notes import Note, notes_table
from mmcore_sources.cuda_file.inference.tuned_macros import UndefinedMacros
from mmcore_sources.cuda_file.options import normalised, words_of
from mmcore_sources.cuda_file.project.absolute_headers import with_own_headers
from mmcore_sources.cuda_file.project.device_functions import with_device_functions
from mmcore_sources.cuda_file.project.header_folders import header_folders, sample_headers
from mmcore_sources.cuda_file.project.includers import with_includer
from mmcore_sources.cuda_file.project.macro_values import with_values_of_project
from mmcore_sources.cuda_file.project.missing_headers import without_missing_headers
from mmcore_sources.cuda_file.project.other_files import files_with_products
from mmcore_sources.cuda_file.project.sources import calling_sources, launching_sources
from mmcore_sources.cuda_file.syntax import (
    DoesNotCompile,
    host_syntax_errors,
    refuse_errors,
    refuse_syntax_errors,
    uncompiled_kernels,
)

_FOLDER = "--option=-I…"
_MOST_FILES = 3  # of a folder that a message names
_UNKNOWN = "\ufffd"  # replaces a byte of another encoding than UTF-8, as in a comment
PYTHON = (".py", ".ipynb")
"""The suffixes of files in which kernels are parts of a Python program."""


def file_kernel(reference: Mapping[str, Any], taken: Mapping[str, FileKernel]) -> FileKernel:
    """Return the kernel of a file, under a name that none of the ``taken`` kernels of other files has.

    The reference contains the path as "file", and options or attributes of a kernel by name. Values that were
    "inferred" before are inferred again. A registered "kernel" keeps its declaration, and has the file as its source.
    Raises InvalidKernel if the file cannot be read, or does not contain enough.
    """
    path = path_of(reference)
    if "kernel" in reference:
        registered = referenced_kernel(reference["kernel"])
        variant_of = registered.variant_of or registered.name  # its tuned configs
        kernel = replace(registered, name=reference["name"], source=path, variant_of=variant_of)
        return FileKernel(kernel, reference, (_shown(path),), "")
    name = reference.get("name") or _name(path, taken)
    try:
        inferred = inferred_of(reference)
    except SeveralKernels as several:
        several.references = tuple(
            {**reference, "entry": entry, "name": f"{name}.{_word(entry)}"} for entry in several.names
        )
        raise
    kernel = Kernel(**{"source": path, **inferred.attributes, "name": name})
    if sizes := reference.get("sizes"):
        kernel = compiled_for(kernel, Sizes(*sizes))
    words = (_shown(path), *words_of(reference))
    notes = {note.what: note.value for note in inferred.notes}
    named = {**reference, "file": str(path), "name": name, "inferred": notes}
    bugs = inferred.bugs if path.suffix in PYTHON else _bugs(json.dumps(dict(reference), sort_keys=True), _text(path))
    return FileKernel(kernel, named, words, notes_table(path.name, inferred.notes), bugs, inferred.warnings)


@functools.lru_cache(maxsize=64)
def _bugs(reference_text: str, text: str) -> tuple[Violation, ...]:
    """Return the bugs of a file's host code, from its reference as JSON."""
    reference = json.loads(reference_text)
    path, given, inferred = path_of(reference), normalised(reference), inferred_of(reference)
    options = (*given.get("options", ()), *(f"-I{folder}" for folder in inferred.attributes["include"]))
    given_options = {**given, "options": options}
    text = with_macros(text, {**given.get("defines", {}), **given.get("parameters", {})})
    errors = host_syntax_errors(path, text, given_options), uncompiled_kernels(path, text, given_options)
    return host_bugs(path.name, text, inferred, given, itertools.chain(*errors))


def path_of(reference: Mapping[str, Any]) -> Path:
    """Return the absolute path of a file; raise InvalidKernel unless it is UTF-8, as messages to NVRTC must be."""
    path = Path(reference["file"])
    try:
        path = path.absolute()
        str(path).encode()
    except FileNotFoundError:
        raise InvalidKernel(f"{path} cannot be read: the working directory is gone") from None
    except UnicodeEncodeError:
        raise InvalidKernel(f"{_shown(path)} cannot be read: its name, or a folder's, is not UTF-8") from None
    return path


def inferred_of(reference: Mapping[str, Any]) -> Inferred:
    """Return the attributes inferred from a file and its options; none for a version of a registered kernel."""
    if "kernel" in reference:
        return Inferred({}, ())
    path = path_of(reference)
    given, text = normalised(reference), _text(path)
    python, options = path.suffix in PYTHON, (*given.get("options", ()),)
    source, moved = (text, {}) if python else with_own_headers(path, text, options)
    folders = () if python else header_folders(path, source, options)
    options = (*options, *(f"-I{folder}" for folder in folders))
    source, absent = (source, ()) if python else without_missing_headers(path, source, options, given)
    headers = {} if python else headers_of(path, source, options)
    borrowed: dict[str, str] = {}
    if not python:
        source, borrowed = _with_device_functions(path, source, tuple(headers.values()))
    try:
        inferred = _inferred(path, source, tuple(headers.items()), json.dumps(given, sort_keys=True), options)
    except DoesNotCompile as error:
        raise with_includer(path, text, error) from None
    except UndefinedMacros as error:
        raise with_includer(path, text, with_values_of_project(path, error)) from None
    except InvalidKernel as error:
        # The body of a template is not compiled before it is an instance: it may need the header.
        lacks = [f"{each} is not found; --option=-I… names its folder" for each in absent]
        error.args = ("\n".join([*lacks, str(error)]),)
        raise
    notes = [Note("headers in", os.path.relpath(each, path.parent), "of the same project", "none") for each in folders]
    notes += [Note("header", own, f"of the same project, for {name}", "none") for name, own in moved.items()]
    notes += [Note("without", each, "which is not found; the kernel compiles without it", _FOLDER) for each in absent]
    notes += [Note("function", each, f"of {file} in the same project", "none") for each, file in borrowed.items()]
    own = {"include": folders, **({"text": source} if source != text or _UNKNOWN in source else {})}
    return replace(inferred, notes=(*inferred.notes, *notes), attributes={**own, **inferred.attributes})


@functools.lru_cache(maxsize=64)
def _with_device_functions(path: Path, text: str, headers: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return a source with the device functions that other sources define, and their files by name.

    Raises InvalidKernel for one that no source defines.
    """
    text, found, missing = with_device_functions(path, text, headers)
    if missing:
        calls = f"{path.name} calls the device function {missing[0]}"
        raise DoesNotCompile(f"{calls}, which is declared, but which no source of its project defines")
    return text, found


@functools.lru_cache(maxsize=64)
def _inferred(
    path: Path, text: str, headers: tuple[tuple[Path, str], ...], given: str, search: tuple[str, ...]
) -> Inferred:
    options = {name: value for name, value in json.loads(given).items() if name != "name"}
    if path.suffix in PYTHON:
        from mmcore_sources.python_file.choice import inferred_from_python  # it infers from strings with this package

        try:
            return inferred_from_python(path, text, options)
        except RecursionError:
            raise InvalidKernel(f"{_shown(path)} cannot be read: its expressions are nested too deeply") from None
    refuse_syntax_errors(path, text, {**options, "options": search})
    try:
        named = [(each.name, content) for each, content in headers]
        of_headers = [name for name, _ in named]
        launching = launching_sources(path, text, of_headers)
        calling = calling_sources(path, (text, *(each for _, each in launching)), of_headers)
        others = named, launching, calling
        return infer(path, text, options, *others)
    except RecursionError:
        raise InvalidKernel(f"{_shown(path)} cannot be read: its expressions are nested too deeply") from None
    except InvalidKernel as error:
        parameters = options.get("parameters", {})
        if isinstance(error, NoKernel):
            error.file, error.others = path, files_with_products(path, text, [each for each, _ in headers])
        if not isinstance(error, SeveralKernels) and not (isinstance(error, NoKernel) and error.others):
            values = error.values if isinstance(error, UndefinedMacros) else {}
            refuse_errors(path, text, {**options, "options": search, "parameters": {**parameters, **values}})
        if isinstance(error, LacksOption):
            error.options = tuple(
                _with_further(lambda further: infer(path, text, {**options, **further}, *others), error.options)
            )
        refused = uncompiled_kernels(path, text, {**options, "options": search})
        bugs = bugs_of_refused(path.name, text, itertools.chain(host_syntax_errors(path, text, options), refused))
        bugs = tuple(bug for bug in bugs if f"line {bug.line} " not in str(error))
        error.args = ("\n".join(map(str, (error, *bugs))),)
        raise


def _with_further(inferred: Callable[[Mapping[str, Any]], Inferred], choices: Iterable[str]) -> Iterator[str]:
    """Yield options that choose a function, each with the option that this function lacks; others unchanged.

    ``inferred`` infers the file with further options.
    """
    for option in choices:
        name, *entry = shlex.split(option)
        words = [option]
        if name == "--entry":
            try:
                inferred({"entry": entry[0]})
            except LacksOption as error:
                words = [*(words if not error.options[0].startswith(name) else []), error.options[0]]
            except InvalidKernel:
                continue  # this function cannot be run
        yield " ".join(words)


def headers_of(path: Path, text: str, options: Sequence[str] = ()) -> dict[Path, str]:
    """Return the texts of the headers that a file includes, directly or not, except CUDA's own and the host's."""
    texts: dict[Path, str] = {}
    for each in (*map(Path, dependencies(path, text, tuple(options)) or ()), *sample_headers(path, text)):
        with contextlib.suppress(OSError):
            texts[each] = read_text(each, "replace")
    return texts


def _text(path: Path) -> str:
    if path.is_dir():
        sources = sorted(path.glob("*.cu"))
        has = f"; it has {', '.join(map(_shown, sources[:_MOST_FILES]))}" + ", …" * (len(sources) > _MOST_FILES)
        raise NoKernel(f"{_shown(path)} is a folder, not a .cu file{has * bool(sources)}")
    try:
        text = read_text(path, "strict" if path.suffix in PYTHON else "replace")
    except FileNotFoundError:
        raise NoKernel(f"there is no file {_shown(path)}") from None
    except OSError as error:
        raise NoKernel(f"{_shown(path)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NoKernel(f"{_shown(path)} cannot be read: it is not UTF-8 text") from None
    if "\0" in text:
        raise NoKernel(f"{_shown(path)} cannot be read: it is not a text")
    return text


def _shown(path: Path) -> str:
    """Return a path relative to the working directory if possible."""
    with contextlib.suppress(FileNotFoundError, ValueError):  # there is no working directory, or it is elsewhere
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _word(text: str) -> str:
    """Return a text as a part of a kernel's name."""
    word = "".join(each if each.isalnum() and each.isascii() else "_" for each in text.lower())
    return word.lstrip("_") or "kernel"


def _name(path: Path, taken: Mapping[str, FileKernel]) -> str:
    """Return a name from the file's stem, with as many folders as make it unique."""
    words = list(map(_word, (path.stem, *path.parent.parts[:0:-1])))
    others = {name for name, each in taken.items() if each.reference["file"] != str(path)}
    names = [".".join(["file", *reversed(words[:count])]) for count in range(1, len(words) + 1)]
    return next((name for name in names if name not in others), names[-1])
