"""The headers that a source is compiled from: an edit of any is seen, and the cache still serves the ordinary ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import mmcore
from mmcore import Dim3
from mmcore.compile import compiler
from mmcore.compile.module import CompiledModule
from mmcore.compile.headers import cudas_folder
from mmcore.compile.nvrtc import nvrtc_version
from mmcore.kernel.properties import COMPUTE_9_0
from mmcore.planning.plan import plan
from tests.own_kernel import own
from tests.test_compiler import entries, forget


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache directory of the test's own, nothing remembered, and a working directory that is not the source's."""
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    forget()
    yield
    forget()


def compiled(cu_file: Path, declarations: str, *options: str, source: Path | None = None) -> CompiledModule:
    kernel = own(cu_file, "C[0] = EXTRA;", declarations=declarations, options=options)
    kernel = replace(kernel, source=source or cu_file)
    forget()
    return compiler.compile_plan(plan(kernel, kernel.problem(8, 8, 8), Dim3(32), COMPUTE_9_0), "90")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def check_seen_and_cached(cu_file: Path, header: Path, declarations: str, *options: str) -> None:
    """The code follows the header, and is taken from the cache where that has not changed."""
    write(header, "#define EXTRA 1.0f\n")
    first = compiled(cu_file, declarations, *options)
    assert compiled(cu_file, declarations, *options) == first
    assert len(entries()) == 1
    write(header, "#define EXTRA 2.0f\n")
    assert compiled(cu_file, declarations, *options).cubin != first.cubin
    assert len(entries()) == 2


OPTIONS = {
    "joined": ("-I{}",),
    "joined by a sign": ("-I={}",),
    "joined by a space": ("-I {}",),
    "separate": ("-I", "{}"),
    "separate, with spaces": ("-I", " {} "),
    "long": ("--include-path={}",),
    "long and separate": ("--include-path", "{}"),
    "the second": ("-I/nowhere", "-I{}"),
}


@pytest.mark.parametrize("folder", ["absolute", "../sub"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_option_says_where_a_header_lies(
    cu_file: Path, tmp_path: Path, options: tuple[str, ...], folder: str
) -> None:
    header = tmp_path / "sub" / "mine.cuh"
    place = str(header.parent) if folder == "absolute" else folder
    check_seen_and_cached(cu_file, header, "#include <mine.cuh>", *(each.replace("{}", place) for each in options))


@pytest.mark.parametrize(
    "options", [("-include=mine.cuh",), ("--pre-include=mine.cuh",), ("-include", "mine.cuh"), ("--pre-include", "{}")]
)
@pytest.mark.parametrize("folder", ["cwd", "sub"])
def test_an_option_names_the_header(cu_file: Path, tmp_path: Path, options: tuple[str, ...], folder: str) -> None:
    header = tmp_path / folder / "mine.cuh"
    options = tuple(each.replace("{}", str(header)) for each in options)
    check_seen_and_cached(cu_file, header, "", *options, "-I../sub")


@pytest.mark.parametrize(
    "directive",
    [
        '#include "mine.cuh"',
        '  #  include"mine.cuh" // mine',
        '# /* a */ include /* b */ "mine.cuh"',
        '/* two\n   lines */ #include "mine.cuh"',
        '#inc\\\nlude "mine.cuh"',
        '%:include "mine.cuh"',
        '#include_next "mine.cuh"',
        '#include "../{folder}/mine.cuh"',
        '#include "{absolute}"',
        '#if defined(__has_include) && __has_include("mine.cuh")\n#include "mine.cuh"\n#endif',
    ],
)
def test_a_header_beside_the_source(cu_file: Path, directive: str) -> None:
    header = cu_file.with_name("mine.cuh")
    text = directive.replace("{folder}", header.parent.name).replace("{absolute}", str(header))
    check_seen_and_cached(cu_file, header, text)


def test_a_header_of_a_header_is_looked_for_beside_that_first(cu_file: Path, tmp_path: Path) -> None:
    write(tmp_path / "sub" / "outer.cuh", '#include "deep/inner.cuh"\n')
    check_seen_and_cached(cu_file, tmp_path / "sub" / "deep" / "inner.cuh", "#include <outer.cuh>", "-I../sub")


@pytest.mark.parametrize(
    ("declarations", "options"),
    [
        ('#define H "sub/mine.cuh"\n#include H', ()),
        ("#include H", ('-DH="sub/mine.cuh"',)),
        ("#define H <mine.cuh>\n#include H", ("-I../sub",)),
        ('#define ASK __has_include\n#if ASK("sub/mine.cuh")\n#include "sub/mine.cuh"\n#endif', ()),
        ('#if 0\n#include "/proc/self/mem"\n#endif\n#include "sub/mine.cuh"', ()),
    ],
)
def test_what_reading_does_not_tell_is_compiled_every_time(
    cu_file: Path, tmp_path: Path, declarations: str, options: tuple[str, ...]
) -> None:
    header = tmp_path / "sub" / "mine.cuh"
    write(header, "#define EXTRA 1.0f\n")
    first = compiled(cu_file, declarations, *options)
    write(header, "#define EXTRA 2.0f\n")
    assert compiled(cu_file, declarations, *options).cubin != first.cubin
    assert entries() == []


@pytest.mark.parametrize("options", [("--pch", "--pch-dir=."), ("-Xptxas=--options-file=further",)])
def test_an_option_that_has_other_files_read_leaves_the_cache_out(cu_file: Path, options: tuple[str, ...]) -> None:
    Path("further").write_text("-O1")
    assert compiled(cu_file, "#define EXTRA 1.0f", *options).functions
    assert entries() == []


@pytest.mark.parametrize("directive", ["#include <mine.cuh>", '#if __has_include("mine.cuh")\n#endif'])
def test_a_header_that_comes_to_be_found_first(cu_file: Path, tmp_path: Path, directive: str) -> None:
    options = ("-I../first", "-I../second")
    write(tmp_path / "second" / "mine.cuh", "#define EXTRA 1.0f\n")
    declarations = f"{directive}\n#ifndef EXTRA\n#define EXTRA 1.0f\n#endif"
    first = compiled(cu_file, declarations, *options)
    write(tmp_path / "first" / "mine.cuh", "#define EXTRA 2.0f\n")
    assert (compiled(cu_file, declarations, *options).cubin != first.cubin) == ("<" in directive)
    assert len(entries()) == 2


def test_bytes_that_are_no_utf8_count(cu_file: Path) -> None:
    header = cu_file.with_name("mine.cuh")
    for number, letter in enumerate((b"\xe8", b"\xe9"), 1):
        header.write_bytes(b"#define EXTRA 1.0f // " + letter + b"\n")
        compiled(cu_file, '#include "mine.cuh"')
        assert len(entries()) == number


@pytest.mark.parametrize("directive", ['#include "sub/mine.cuh"', "#include <mine.cuh>", '#include "{}"'])
def test_a_header_may_begin_with_a_byte_order_mark(cu_file: Path, tmp_path: Path, directive: str) -> None:
    header = tmp_path / "sub" / "mine.cuh"
    write(tmp_path / "sub" / "deep" / "inner.cuh", '\ufeff#include "../value.cuh"\n')
    write(tmp_path / "sub" / "value.cuh", "__device__ float value() { return 3.0f; }\n")
    write(header, '\ufeff#pragma once\n#include "deep/inner.cuh"\n#define EXTRA value()\n')
    declarations = f"{directive.replace('{}', str(header))}\n" * 2
    code = compiled(cu_file, declarations, "-I../sub")
    assert code.functions
    assert len(entries()) == 1
    header.write_text(header.read_text(encoding="utf-8-sig"))
    assert compiled(cu_file, declarations, "-I../sub").ptx == code.ptx
    assert len(entries()) == 2


def test_a_name_of_several_headers_is_not_confused_for_a_mark(cu_file: Path, tmp_path: Path) -> None:
    write(tmp_path / "value.cuh", "#define EXTRA value() + 1.0f\n")
    write(tmp_path / "sub" / "value.cuh", "\ufeff__device__ float value() { return 3.0f; }\n")
    write(tmp_path / "sub" / "mine.cuh", '#include "value.cuh"\n')
    with pytest.raises(mmcore.CompileError, match=r"kernel\.cu does not compile:\n.*sub/value\.cuh\(1\): error:"):
        compiled(cu_file, '#include "value.cuh"\n#include "sub/mine.cuh"')


def test_a_header_that_includes_itself_by_detours_is_one(cu_file: Path, tmp_path: Path) -> None:
    header = tmp_path / "sub" / "mine.cuh"
    write(header, '#pragma once\n#include "../sub/mine.cuh"\n#define EXTRA 1.0f\n')
    assert compiled(cu_file, '#include "sub/mine.cuh"').functions
    assert len(entries()) == 1


def test_relative_paths_begin_in_the_working_directory_of_the_moment(
    cu_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = []
    for value in (1, 2):
        write(tmp_path / f"place{value}" / "sub" / "mine.cuh", f"#define EXTRA {value}.0f\n")
        monkeypatch.chdir(tmp_path / f"place{value}")
        codes.append(compiled(cu_file, "#include <mine.cuh>", "-Isub", source=Path("../kernel.cu")))
    assert codes[0].cubin != codes[1].cubin


def test_a_header_that_changes_while_nvrtc_works_spoils_no_entry(
    cu_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = cu_file.with_name("mine.cuh")
    write(header, "#define EXTRA 1.0f\n")
    compile_it = compiler._compile

    def compile_what_is_edited(*asked: object) -> CompiledModule:
        write(header, "#define EXTRA 2.0f\n")
        return compile_it(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "_compile", compile_what_is_edited)
    edited = compiled(cu_file, '#include "mine.cuh"')
    assert entries() == []
    monkeypatch.undo()
    write(header, "#define EXTRA 1.0f\n")
    assert compiled(cu_file, '#include "mine.cuh"').cubin != edited.cubin


@pytest.mark.parametrize(
    "declarations",
    [
        "#include <cuda_bf16.h>",
        '#include "cuda_bf16.h"',
        "#if __has_include(<cuda_bf16.h>)\n#include <cuda_bf16.h>\n#endif",
        "#ifdef __CUDACC_RTC__\n#include <cuda_bf16.h>\n#else\n#include <stdio.h>\n#endif",
    ],
)
def test_cudas_own_headers_are_the_compilers(cu_file: Path, declarations: str) -> None:
    options = (f"-I{cudas_folder()}",) if cudas_folder() else ()
    for given in ((), options):
        code = compiled(cu_file, f"{declarations}\n#define EXTRA __bfloat162float(__nv_bfloat16(n))", *given)
        assert compiled(cu_file, f"{declarations}\n#define EXTRA __bfloat162float(__nv_bfloat16(n))", *given) == code
    assert len(entries()) == 1 + bool(options)


def test_cudas_own_headers_are_found_by_a_macro(cu_file: Path) -> None:
    if not cudas_folder() and nvrtc_version() < (13, 4):
        pytest.skip("CUDA's own headers are not installed")
    declarations = "#define H <cuda_bf16.h>\n#include H\n#define EXTRA __bfloat162float(__nv_bfloat16(n))"
    assert compiled(cu_file, declarations).functions


def test_what_a_kernel_is_known_by_follows_its_headers(cu_file: Path, tmp_path: Path) -> None:
    header = tmp_path / "sub" / "mine.cuh"
    write(header, "#define EXTRA 1.0f\n")
    kernel = own(cu_file, "C[0] = EXTRA;", declarations="#include <mine.cuh>", options=("-I../sub",))
    first = compiler.source_texts(kernel)
    assert compiler.source_texts(kernel) == first
    write(header, "#define EXTRA 2.0f\n")
    assert compiler.source_texts(kernel) != first
    unclear = own(cu_file, "C[0] = EXTRA;", declarations="#define H <mine.cuh>\n#include H", options=("-I../sub",))
    assert compiler.source_texts(unclear) != compiler.source_texts(unclear)
