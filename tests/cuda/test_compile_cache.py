"""The compile cache compiles nothing twice and notices changes of every included file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import CompileError, MmcoreError
from mmcore.files import TEXT_BYTES, cache_directory
from mmcore_cuda.nvrtc import cache, plan_compilation
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.dependencies import forget
from mmcore_cuda.nvrtc.device_code import DeviceHalf
from mmcore_cuda.nvrtc.source_compilation import compile_source
from tests.cuda.test_compiler import SOURCE, planned
from tests.tables import cases


@pytest.fixture(autouse=True)
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the sources that NVRTC compiled, with an empty cache and a working directory other than the source's."""
    names: list[str] = []

    def compile_and_count(kernel: str, source: Path, *asked: tuple[str, ...]) -> tuple[CompiledModule, DeviceHalf]:
        names.append(source.name)
        return compile_source(kernel, source, *asked)  # type: ignore[arg-type]

    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(plan_compilation, "compile_source", compile_and_count)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    forget()
    yield names
    forget()


def entries() -> list[Path]:
    return [path for path in (cache_directory() / "entries").rglob("[!.]*") if path.is_file()]


def compiled(
    cu_file: Path, declarations: str = "", *options: str, value: str = "EXTRA", again: bool = False
) -> CompiledModule:
    """Return the code of a kernel that writes ``value``; without ``again``, as a new process would compile it."""
    text = f"{declarations}\n{SOURCE}"
    if not cu_file.exists() or cu_file.read_text() != text:
        cu_file.write_text(text)
    if not again:
        forget()
    return plan_compilation.compile_plan(planned(cu_file, value, options=options), "90")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def check_followed(compilations: list[str], header: Path, cu_file: Path, *asked: str) -> None:
    """Check that the code follows the header, and comes from the cache if the header has not changed."""
    write(header, "#define EXTRA 1.0f\n")
    first = compiled(cu_file, *asked)
    assert compiled(cu_file, *asked) == first
    assert len(compilations) == 1
    write(header, "#define EXTRA 2.0f\n")
    second = compiled(cu_file, *asked)
    assert second.cubin != first.cubin
    assert len(compilations) == 2
    write(header, "#define EXTRA 3.0f\n")
    for _ in range(2):
        assert compiled(cu_file, *asked, again=True).cubin not in (first.cubin, second.cubin)
    assert len(compilations) == 3


def test_every_input_makes_an_entry(cu_file: Path, tmp_path: Path, compilations: list[str]) -> None:
    code = [compiled(cu_file, value="1.0f"), compiled(cu_file, value="2.0f"), compiled(cu_file, "//", value="1.0f")]
    code.append(plan_compilation.compile_plan(planned(cu_file, "1.0f"), "80"))
    assert len({module.cubin for module in code}) >= 3
    assert len(entries()) == len(compilations) == 4
    cu_file.write_text(SOURCE + SOURCE.replace("f(", "g("))
    for entry in ("f", "g"):
        assert [*plan_compilation.compile_plan(planned(cu_file, entry=entry), "90").functions] == [entry]
    assert len(compilations) == 6
    # The path is in the debug information.
    moved = [compiled(tmp_path / name / "kernel.cu", value="1.0f") for name in ("cwd", "cache")]
    assert replace(moved[0], cubin=b"", ptx="") == replace(moved[1], cubin=b"", ptx="")
    assert len(compilations) == 8


@pytest.mark.parametrize(
    ("step", "error"),
    [("cache_directory", MmcoreError), *((name, OSError) for name in ("cache_directory", "read_bytes", "replace"))],
)
def test_without_a_cache_everything_compiles(
    cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch, step: str, error: type[Exception]
) -> None:
    def fail(*asked: object) -> None:
        raise error("there is no disk")

    monkeypatch.setattr(cache, step, fail)
    for _ in range(2):
        assert compiled(cu_file, value="1.0f").functions
    assert len(compilations) == 2


def test_the_oldest_entries_make_room(cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(cu_file, value="1.0f")
    limit = entries()[0].stat().st_size * 5 // 2
    monkeypatch.setattr(cache, "_BYTES", limit)
    for value in ("2.0f", "1.0f", "3.0f", "1.0f"):
        compiled(cu_file, value=value)
        # As if time had passed: the file system's clock is coarse.
        for entry in entries():
            age = os.stat(entry).st_mtime_ns - 10**9
            os.utime(entry, ns=(age, age))
    assert len(compilations) == 3
    assert len(entries()) == 2
    for number in range(4, 8):
        compiled(cu_file, value=f"{number}.0f")
    assert 0 < sum(entry.stat().st_size for entry in entries()) <= limit


@cases(__file__, "followed", "header, declarations, options, others")
def test_a_header_is_followed_wherever_it_is(
    tmp_path: Path,
    compilations: list[str],
    header: str,
    declarations: str,
    options: tuple[str, ...],
    others: dict[str, str],
) -> None:
    for name, text in others.items():
        write(tmp_path / name, text)
    source = tmp_path / "own" / "kernel.cu"
    source.parent.mkdir(exist_ok=True)
    if "link" in declarations:
        (tmp_path / "own" / "link").symlink_to("../out")
    if "round" in declarations:
        (tmp_path / "own" / "round").symlink_to(".")
    asked = [text.replace("{}", str(tmp_path)) for text in (declarations, *options)]
    check_followed(compilations, tmp_path / header, source, *asked)


def test_a_new_header_that_is_found_first_is_seen(cu_file: Path, tmp_path: Path) -> None:
    asked = ("#include <mine.cuh>", "-I../first", "-I../second")
    write(tmp_path / "second" / "mine.cuh", "#define EXTRA 1.0f\n")
    first = compiled(cu_file, *asked)
    header = write(tmp_path / "first" / "mine.cuh", "#define EXTRA 2.0f\n")
    assert compiled(cu_file, *asked).cubin != first.cubin
    header.unlink()
    assert compiled(cu_file, *asked) == first


def test_an_edit_that_keeps_size_and_time_is_seen(cu_file: Path) -> None:
    header = write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    first, times = compiled(cu_file, '#include "mine.cuh"'), os.stat(header).st_mtime_ns
    write(header, "#define EXTRA 2.0f\n")
    os.utime(header, ns=(times, times))
    assert compiled(cu_file, '#include "mine.cuh"').cubin != first.cubin


def test_a_link_that_leads_to_another_folder_is_seen(tmp_path: Path) -> None:
    link, codes = tmp_path / "own" / "current", set()
    for version in ("v1", "v2"):
        write(tmp_path / "own" / version / "mine.cuh", f"#define EXTRA {version[1]}.0f\n")
        link.unlink(missing_ok=True)
        link.symlink_to(version)
        codes.add(compiled(tmp_path / "own" / "kernel.cu", '#include "current/mine.cuh"').cubin)
    assert len(codes) == 2


@pytest.mark.parametrize("again", [False, True])
def test_relative_paths_begin_in_the_working_directory_of_the_moment(
    cu_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str], again: bool
) -> None:
    codes = []
    for value, name in enumerate(("one", "two", "two", "one")):
        place = tmp_path / name
        write(place / "sub" / "mine.cuh", f"#define EXTRA {value}.0f\n")
        monkeypatch.chdir(place)
        codes += [compiled(cu_file, "#include <mine.cuh>", "-Isub", again=again).cubin for _ in range(2)]
    assert codes[::2] == codes[1::2]
    assert len(set(codes)) == len(compilations) == 4


def test_an_entry_that_cannot_be_finished_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.write_entry(b"key", cache.Entry({}, None, "it does not compile"))
    assert [path for path in cache_directory().rglob("*") if path.is_file()] == []


def test_what_the_code_depends_on_is_the_source_its_headers_and_the_options(cu_file: Path) -> None:
    header = write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    cu_file.write_text(f'#include "mine.cuh"\n{SOURCE}')
    first = plan_compilation.compile_inputs(planned(cu_file), "90")
    assert first["text"] == cu_file.read_text()
    assert first["options"] == plan_compilation.compile_options(planned(cu_file), "90")
    assert str(header) in first["headers"]
    write(header, "#define EXTRA 22.0f\n")
    assert plan_compilation.compile_inputs(planned(cu_file), "90")["headers"] != first["headers"]


def test_headers_of_options_are_followed_in_a_process(cu_file: Path, tmp_path: Path, compilations: list[str]) -> None:
    codes: list[bytes] = []
    for name in ("one.cuh", "two.cuh", "two.cuh", "one.cuh"):
        write(tmp_path / name, f"#define EXTRA {len(codes)}.0f\n")
        codes.append(compiled(cu_file, "#include HEADER", f'-DHEADER="{tmp_path / name}"', again=True).cubin)
    assert len(set(codes)) == len(compilations) == 4


def test_a_key_separates_its_texts() -> None:
    several = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("c", "ab"), ()]
    assert len({cache.cache_key(*each) for each in several}) == len(several)
    assert cache.cache_key("a", "\udcff") == cache.cache_key("a", "\udcff")


def test_a_header_may_change_while_nvrtc_works(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")

    def edited_first(kernel: str, source: Path, *asked: tuple[str, ...]) -> tuple[CompiledModule, DeviceHalf]:
        write(header, "#define EXTRA 2.0f\n")
        return compile_source(kernel, source, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(plan_compilation, "compile_source", edited_first)
    edited = compiled(cu_file, '#include "mine.cuh"')
    assert entries() == []
    monkeypatch.setattr(plan_compilation, "compile_source", compile_source)
    write(header, "#define EXTRA 1.0f\n")
    assert compiled(cu_file, '#include "mine.cuh"').cubin != edited.cubin


@pytest.mark.parametrize("options", [("--pch", "--pch-dir=."), ("-Xptxas=--options-file=further",)])
def test_an_option_that_has_other_files_read_leaves_the_cache_out(cu_file: Path, options: tuple[str, ...]) -> None:
    write(Path("further"), "-O1")
    write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    assert compiled(cu_file, '#include "mine.cuh"', *options).functions
    assert entries() == []


def test_cudas_own_headers_cost_no_entry_each_time(cu_file: Path, compilations: list[str]) -> None:
    declarations = "#include <cuda_bf16.h>\n#define EXTRA __bfloat162float(__nv_bfloat16(n))"
    assert compiled(cu_file, declarations) == compiled(cu_file, declarations)
    assert len(compilations) == 1


def test_thousands_of_headers_take_an_instant(cu_file: Path, tmp_path: Path, compilations: list[str]) -> None:
    for number in range(2000):
        write(tmp_path / "library" / str(number % 50) / f"{number}.h", '#include "../x.h"\n')
    asked = ("-I../library",)
    check_followed(compilations, tmp_path / "library" / "7" / "1007.h", cu_file, "#include <7/1007.h>", *asked)
    begin = time.process_time()
    compiled(cu_file, "#include <7/1007.h>", *asked)
    assert time.process_time() - begin < 0.3
    assert len(compilations) == 3


def test_a_name_that_the_preprocessor_makes_leaves_the_cache_out(cu_file: Path, compilations: list[str]) -> None:
    write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    write(cu_file.with_name("other.cuh"), "// includes nothing\n")
    making = "#define TEXT(x) #x\n#define NAME(x) TEXT(x.cuh)\n#include NAME(mine)"
    for declarations in (making, f'{making}\n#include "other.cuh"'):
        compilations.clear()
        for _ in range(2):
            compiled(cu_file, declarations)
        assert len(compilations) == 2
        assert entries() == []


@pytest.mark.parametrize(
    ("header", "include", "text"),
    [("sub/mine.cuh", ("sub",), "#include <mine.cuh>\n"), ("mine.cuh", (), '#inc\\\r\nlude "mine.cuh"\r\n')],
    ids=["a folder relative to the source", "a line that ends and continues as on Windows"],
)
def test_a_declared_header_is_followed(
    cu_file: Path, compilations: list[str], header: str, include: tuple[str, ...], text: str
) -> None:
    cu_file.write_bytes(f"{text}{SOURCE}".encode())
    codes = []
    for value in ("1.0f", "", "2.0f"):
        if value:
            write(cu_file.parent / header, f"#define EXTRA {value}\n")
        forget()
        codes.append(plan_compilation.compile_plan(planned(cu_file, "EXTRA", include=include), "90").cubin)
    assert codes[0] == codes[1] != codes[2]
    assert len(compilations) == 2


def test_a_source_that_does_not_compile_is_compiled_once(cu_file: Path, compilations: list[str]) -> None:
    header = write(cu_file.with_name("mine.cuh"), "#define EXTRA wrong\n")
    said = []
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            compiled(cu_file, '#include "mine.cuh"')
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert len(compilations) == 1
    write(header, "#define EXTRA 1.0f\n")
    assert compiled(cu_file, '#include "mine.cuh"').functions


def test_an_unreadable_or_vanished_neighbour_is_no_obstacle(tmp_path: Path, compilations: list[str]) -> None:
    write(tmp_path / "own" / "secret.h", "").chmod(0)
    (tmp_path / "own" / "gone.h").symlink_to("nowhere")
    (tmp_path / "own" / "closed").mkdir(mode=0)
    os.mkfifo(tmp_path / "own" / "pipe.h")
    named = ("secret.h", "gone.h", "closed", "pipe.h")
    text = "\n".join(["#if 0", *(f'#include "{name}"' for name in named), "#endif", '#include "mine.cuh"'])
    check_followed(compilations, tmp_path / "own" / "mine.cuh", tmp_path / "own" / "kernel.cu", text)


@pytest.mark.parametrize("name", ["/dev/zero", "pipe.h", "large.h"])
@pytest.mark.parametrize(
    ("text", "option"), [("#include NAME", "-DNAME={}"), ('#include "first.h"', ""), ("", "-include {}")]
)
def test_endless_headers_fail(
    cu_file: Path, name: str, text: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cu_file.parent)
    os.mkfifo(cu_file.with_name("pipe.h"))
    with cu_file.with_name("large.h").open("wb") as file:
        file.truncate(TEXT_BYTES + 1)
    write(cu_file.with_name("first.h"), f'#include "{name}"')
    quoted = option.replace("{}", f'"{name}"' if "NAME" in text else name)
    reason = "it has more than 8 MiB" if name == "large.h" else "it is not a regular file"
    with pytest.raises(CompileError, match=rf"kernel\.cu includes .*{name}: {reason}$"):
        compiled(cu_file, text, *quoted.split())


@cases(__file__, "the_caches_directory", "environment, folder")
def test_the_caches_directory(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_directory() == Path(folder)


def test_cudas_headers_are_inputs(cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    usual = cuda_headers().options
    for declarations, compiled_in_all in (("", 1), ("#include <cuda_fp16.h>", 3)):
        for further in ((), ("-I/elsewhere",)):
            headers = SimpleNamespace(options=(*usual, *further))
            monkeypatch.setattr(plan_compilation, "cuda_headers", lambda headers=headers: headers)
            compiled(cu_file, declarations, value="1.0f")
        assert len(compilations) == compiled_in_all


@pytest.mark.parametrize(
    "neighbour", [".git/mine.cuh", "sub/.venv/deep/other.h", "notes.txt", "sub/table.csv", "other.cuh"]
)
def test_other_files_cost_no_compilation(cu_file: Path, compilations: list[str], neighbour: str) -> None:
    write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    include = "" if neighbour == "other.cuh" else '#include "mine.cuh"'
    for number in range(2):
        write(cu_file.parent / neighbour, f"#define OTHER {number}\n")
        compiled(cu_file, include, value="EXTRA" if include else "1.0f")
    assert len(compilations) == 1
