"""The compile cache: what was compiled is not compiled again, and whatever a source includes is followed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmcore.cache_directory import cache_directory
from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import CompileError, MmcoreError
from mmcore.files import TEXT_BYTES
from mmcore_cuda.nvrtc import cache, compiler, dependencies
from mmcore_cuda.nvrtc.compilation import compile_half
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.device_half import DeviceHalf
from tests.cuda.test_compiler import SOURCE, planned


@pytest.fixture(autouse=True)
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A cache of the test's own; the sources that NVRTC compiled; and a working directory that is not the source's."""
    names: list[str] = []

    def compile_and_count(kernel: str, source: Path, *asked: tuple[str, ...]) -> tuple[CompiledModule, DeviceHalf]:
        names.append(source.name)
        return compile_half(kernel, source, *asked)  # type: ignore[arg-type]

    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "compile_half", compile_and_count)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    forget()
    yield names
    forget()


def forget() -> None:
    """Forget what this process knows of files, as another process would."""
    dependencies.forget()


def entries() -> list[Path]:
    return [path for path in (cache_directory() / "entries").rglob("[!.]*") if path.is_file()]


def compiled(
    cu_file: Path, declarations: str = "", *options: str, value: str = "EXTRA", again: bool = False
) -> CompiledModule:
    """The code of a kernel that writes ``value`` below ``declarations``, in another process or, ``again``, in this."""
    text = f"{declarations}\n{SOURCE}"
    if not cu_file.exists() or cu_file.read_text() != text:
        cu_file.write_text(text)
    if not again:
        forget()
    return compiler.compile_plan(planned(cu_file, value, options=options), "90")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def check_followed(compilations: list[str], header: Path, cu_file: Path, *asked: str) -> None:
    """The code follows the header, and is taken from the cache where that has not changed."""
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


def test_the_source_its_macros_and_the_architecture_make_an_entry_each(cu_file: Path, compilations: list[str]) -> None:
    code = [compiled(cu_file, value="1.0f"), compiled(cu_file, value="2.0f"), compiled(cu_file, "//", value="1.0f")]
    code.append(compiler.compile_plan(planned(cu_file, "1.0f"), "80"))
    assert len({module.cubin for module in code}) >= 3
    assert len(entries()) == len(compilations) == 4


def test_another_function_of_the_same_source_is_compiled_too(cu_file: Path, compilations: list[str]) -> None:
    cu_file.write_text(SOURCE + SOURCE.replace("f(", "g("))
    for entry in ("f", "g"):
        assert [*compiler.compile_plan(planned(cu_file, entry=entry), "90").functions] == [entry]
    assert len(compilations) == 2


@pytest.mark.parametrize("error", [OSError("no space"), MmcoreError("there is no home directory")])
def test_without_a_place_for_a_cache_everything_compiles(
    cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def nowhere() -> Path:
        raise error

    monkeypatch.setattr(cache, "cache_directory", nowhere)
    for _ in range(2):
        assert compiled(cu_file, value="1.0f").functions
    assert len(compilations) == 2


@pytest.mark.parametrize("method", ["read_bytes", "replace"])
def test_a_cache_that_fails_costs_a_compilation(
    cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*asked: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(f"mmcore_cuda.nvrtc.cache.{method}", fail)
    for _ in range(2):
        assert compiled(cu_file, value="1.0f").functions
    assert len(compilations) == 2


def test_the_entries_used_least_recently_make_room(
    cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(cu_file, value="1.0f")
    (first,) = entries()
    monkeypatch.setattr(cache, "_BYTES", first.stat().st_size * 5 // 2)
    for value in ("2.0f", "1.0f", "3.0f", "1.0f"):
        compiled(cu_file, value=value)
        # As if time had passed: the file system's clock is coarse.
        for entry in entries():
            age = os.stat(entry).st_mtime_ns - 10**9
            os.utime(entry, ns=(age, age))
    assert len(compilations) == 3
    assert len(entries()) == 2


def test_without_a_writable_cache_directory_everything_compiles(
    cu_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(write(tmp_path / "file", "in the way")))
    assert compiled(cu_file, value="1.0f").functions


OPTIONS = {
    "joined": ("-I{}",),
    "joined by a sign": ("-I={}",),
    "joined by a space": ("-I {}",),
    "separate": ("-I", "{}"),
    "separate with a space": ("-I", " {}"),
    "long": ("--include-path={}",),
    "long and separate": ("--include-path", "{}"),
    "the second": ("-I/nowhere", "-I{}"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_header_in_a_folder_of_an_option(tmp_path: Path, compilations: list[str], options: tuple[str, ...]) -> None:
    asked = [each.replace("{}", "../sub") for each in options]
    source = write(tmp_path / "own" / "kernel.cu", "")
    check_followed(compilations, tmp_path / "sub" / "mine.cuh", source, "#include <mine.cuh>", *asked)


def test_a_header_in_angle_brackets_is_looked_for_beside_the_source_last(
    tmp_path: Path, compilations: list[str]
) -> None:
    source = write(tmp_path / "own" / "mine.cuh", "#define EXTRA 9.0f\n").with_name("kernel.cu")
    check_followed(compilations, tmp_path / "sub" / "mine.cuh", source, "#include <mine.cuh>", "-I../sub")


@pytest.mark.parametrize("options", [("-include=mine.cuh",), ("--pre-include", "{}"), ("-include", "mine.cuh")])
@pytest.mark.parametrize("folder", ["cwd", "sub"])
def test_a_header_that_an_option_names(
    cu_file: Path, tmp_path: Path, compilations: list[str], options: tuple[str, ...], folder: str
) -> None:
    header = tmp_path / folder / "mine.cuh"
    asked = [each.replace("{}", str(header)) for each in options]
    check_followed(compilations, header, cu_file, "", *asked, "-I../sub")


@pytest.mark.parametrize(
    "directive",
    [
        '#include "mine.cuh"',
        '/* two\n   lines */ # /* a */ include"mine.cuh" // mine',
        '#inc\\\nlude "mine.cuh"',
        '%:include "mine.cuh"',
        '#define H "mine.cuh"\n#include H',
        '#if __has_include("mine.cuh")\n#include "mine.cuh"\n#endif',
        '#include "{absolute}"',
        '#define H "../{folder}/mine.cuh"\n#include H',
    ],
)
def test_a_header_beside_the_source(cu_file: Path, compilations: list[str], directive: str) -> None:
    header = cu_file.with_name("mine.cuh")
    text = directive.replace("{folder}", header.parent.name).replace("{absolute}", str(header))
    check_followed(compilations, header, cu_file, text)


@pytest.mark.parametrize(
    ("declarations", "options"),
    [
        ('#include "../out/mine.cuh"', ()),
        ('#include "{out}/mine.cuh"', ()),
        ("#include <../../out/mine.cuh>", ("-I../sub/deep",)),
        ("#include H", ('-DH="../out/mine.cuh"',)),
        ("#include H", ('-DH="{out}/mine.cuh"',)),
        ('#include "../out/next.cuh"', ()),
        ("#include <up.cuh>", ("-I../sub",)),
        ('#include ".hidden/mine.cuh"', ()),
        ('#include "mine.csv"', ()),
        ('#include "link/mine.cuh"', ()),
    ],
)
def test_a_header_outside_the_folders(
    tmp_path: Path, compilations: list[str], declarations: str, options: tuple[str, ...]
) -> None:
    """In a neighbour of the source's folder, where it is named, or two steps away."""
    out, own = tmp_path / "out", tmp_path / "own"
    write(out / "next.cuh", '#include "deeper/mine.cuh"\n')
    write(tmp_path / "sub" / "up.cuh", '#include "../out/mine.cuh"\n')
    own.mkdir()
    (tmp_path / "sub" / "deep").mkdir()
    if "link" in declarations:
        (own / "link").symlink_to("../out")
    place = {"next": out / "deeper" / "mine.cuh", ".hid": own / ".hidden" / "mine.cuh", "csv": own / "mine.csv"}
    header = next((path for word, path in place.items() if word in declarations), out / "mine.cuh")
    asked = [text.replace("{out}", str(out)) for text in (declarations, *options)]
    check_followed(compilations, header, own / "kernel.cu", *asked)


def test_a_header_of_a_header_is_looked_for_beside_that(cu_file: Path, tmp_path: Path, compilations: list[str]) -> None:
    write(tmp_path / "sub" / "outer.cuh", '#include "deep/inner.cuh"\n')
    header = tmp_path / "sub" / "deep" / "inner.cuh"
    check_followed(compilations, header, cu_file, "#include <outer.cuh>", "-I../sub")


def test_a_header_that_comes_to_be_found_first(cu_file: Path, tmp_path: Path) -> None:
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
    for number in (1, 2):
        write(tmp_path / "own" / f"v{number}" / "mine.cuh", f"#define EXTRA {number}.0f\n")
    link = tmp_path / "own" / "current"
    codes = []
    for number in (1, 2):
        link.unlink(missing_ok=True)
        link.symlink_to(f"v{number}")
        codes.append(compiled(tmp_path / "own" / "kernel.cu", '#include "current/mine.cuh"'))
    assert codes[0].cubin != codes[1].cubin


def test_links_that_go_round_are_walked_once(tmp_path: Path, compilations: list[str]) -> None:
    own = tmp_path / "own"
    (own / "sub").mkdir(parents=True)
    (own / "sub" / "back").symlink_to("..")
    check_followed(compilations, own / "sub" / "mine.cuh", own / "kernel.cu", '#include "sub/back/sub/mine.cuh"')


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
    first = compiler.compile_inputs(planned(cu_file), "90")
    assert first["text"] == cu_file.read_text()
    assert first["options"] == compiler.compile_options(planned(cu_file), "90")
    assert str(header) in first["headers"]
    write(header, "#define EXTRA 22.0f\n")
    assert compiler.compile_inputs(planned(cu_file), "90")["headers"] != first["headers"]


def test_each_header_that_an_option_names_is_followed_in_one_process(
    cu_file: Path, tmp_path: Path, compilations: list[str]
) -> None:
    codes: list[bytes] = []
    for name in ("one.cuh", "two.cuh", "two.cuh", "one.cuh"):
        write(tmp_path / name, f"#define EXTRA {len(codes)}.0f\n")
        codes.append(compiled(cu_file, "#include HEADER", f'-DHEADER="{tmp_path / name}"', again=True).cubin)
    assert len(set(codes)) == len(compilations) == 4


def test_a_key_tells_its_texts_apart() -> None:
    several = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("c", "ab"), ()]
    assert len({cache.cache_key(*each) for each in several}) == len(several)
    assert cache.cache_key("a", "\udcff") == cache.cache_key("a", "\udcff")


def test_who_writes_an_entry_at_the_same_time_writes_another_file(
    cu_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = cache.Entry({}, None, "it does not compile")
    unfinished: list[str] = []
    rename = Path.replace

    def told(path: Path, target: Path) -> Path:
        unfinished.append(str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", told)
    for key in (b"one", b"two"):
        cache.write_entry(key, entry)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        cache.write_entry(b"one", entry)
    other = threading.Thread(target=cache.write_entry, args=(b"one", entry))
    other.start()
    other.join()
    assert len(set(unfinished)) == 4
    assert cache.read_entry(b"one") == entry
    assert not any(map(os.path.exists, unfinished))


def test_a_header_that_changes_while_nvrtc_works_spoils_no_entry(
    cu_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")

    def edited_first(kernel: str, source: Path, *asked: tuple[str, ...]) -> tuple[CompiledModule, DeviceHalf]:
        write(header, "#define EXTRA 2.0f\n")
        return compile_half(kernel, source, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "compile_half", edited_first)
    edited = compiled(cu_file, '#include "mine.cuh"')
    assert entries() == []
    monkeypatch.setattr(compiler, "compile_half", compile_half)
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


def test_a_source_without_headers_does_not_mind_its_neighbours(tmp_path: Path, compilations: list[str]) -> None:
    for number in range(2):
        compiled(tmp_path / "kernel.cu", value="1.0f")
        write(tmp_path / "other.cuh", str(number))
    assert len(compilations) == 1


def test_a_library_of_thousands_of_headers_is_looked_through_in_an_instant(
    cu_file: Path, tmp_path: Path, compilations: list[str]
) -> None:
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


def test_a_name_that_a_macro_of_another_folder_has(cu_file: Path, tmp_path: Path, compilations: list[str]) -> None:
    write(tmp_path / "sub" / "names.h", '#define H "mine.cuh"\n')
    text = '#include "sub/names.h"\n#include H'
    check_followed(compilations, cu_file.with_name("mine.cuh"), cu_file, text)


def test_declared_folders_are_searched_relative_to_the_source(tmp_path: Path, compilations: list[str]) -> None:
    source = write(tmp_path / "own" / "kernel.cu", f"#include <mine.cuh>\n{SOURCE}")
    codes = []
    for number in (1, 1, 2):
        header = tmp_path / "own" / "sub" / "mine.cuh"
        if number == 2 or not header.exists():
            write(header, f"#define EXTRA {number}.0f\n")
        forget()
        codes.append(compiler.compile_plan(planned(source, "EXTRA", include=("sub",)), "90").cubin)
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


def test_the_device_half_of_a_source_is_cached_like_the_whole(cu_file: Path, compilations: list[str]) -> None:
    text = '#include <vector>\n#include "mine.cuh"\nstd::vector<int> all;\nint main() { return all.size(); }'
    check_followed(compilations, cu_file.with_name("mine.cuh"), cu_file, text)


def test_an_unreadable_or_vanished_neighbour_is_no_obstacle(tmp_path: Path, compilations: list[str]) -> None:
    write(tmp_path / "own" / "secret.h", "").chmod(0)
    (tmp_path / "own" / "gone.h").symlink_to("nowhere")
    (tmp_path / "own" / "closed").mkdir(mode=0)
    os.mkfifo(tmp_path / "own" / "pipe.h")
    named = ("secret.h", "gone.h", "closed", "pipe.h")
    text = "\n".join(["#if 0", *(f'#include "{name}"' for name in named), "#endif", '#include "mine.cuh"'])
    check_followed(compilations, tmp_path / "own" / "mine.cuh", tmp_path / "own" / "kernel.cu", text)


def test_a_file_of_the_kernels_own_system_is_left_alone(cu_file: Path, compilations: list[str]) -> None:
    text = '#if 0\n#include "/proc/self/mem"\n#include "/dev/zero"\n#endif\n#include "mine.cuh"'
    check_followed(compilations, cu_file.with_name("mine.cuh"), cu_file, text)


@pytest.mark.parametrize("name", ["/dev/zero", "pipe.h", "large.h"])
@pytest.mark.parametrize(
    ("text", "option"), [("#include NAME", "-DNAME={}"), ('#include "first.h"', ""), ("", "-include {}")]
)
def test_a_header_that_nvrtc_would_read_without_end_is_refused(
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


def test_a_moved_source_is_another(tmp_path: Path, compilations: list[str]) -> None:
    """Its path is in the debug information."""
    codes = [compiled(tmp_path / name / "kernel.cu", value="1.0f") for name in ("cwd", "cache")]
    assert replace(codes[0], cubin=b"", ptx="") == replace(codes[1], cubin=b"", ptx="")
    assert len(compilations) == 2


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"MMCORE_CACHE_DIR": "/mine", "XDG_CACHE_HOME": "/caches"}, "/mine"),
        ({"MMCORE_CACHE_DIR": "", "XDG_CACHE_HOME": "/caches", "HOME": "/home/u"}, "/caches/mmcore"),
        ({"MMCORE_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/home/u"}, "/home/u/.cache/mmcore"),
    ],
)
def test_the_cache_is_where_the_user_has_caches(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_directory() == Path(folder)


def test_code_depends_on_where_cudas_headers_are_if_it_includes_any(
    cu_file: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cuda_headers()
    for further in ((), ("-I/elsewhere",)):
        monkeypatch.setattr(
            compiler, "cuda_headers", lambda further=further: SimpleNamespace(options=(*found.options, *further))
        )
        compiled(cu_file, value="1.0f")
    assert len(compilations) == 1
    for further in ((), ("-I/elsewhere",)):
        monkeypatch.setattr(
            compiler, "cuda_headers", lambda further=further: SimpleNamespace(options=(*found.options, *further))
        )
        compiled(cu_file, "#include <cuda_fp16.h>", value="1.0f")
    assert len(compilations) == 3


def test_a_header_may_have_no_suffix(cu_file: Path, compilations: list[str]) -> None:
    check_followed(compilations, cu_file.with_name("mine"), cu_file, '#include "mine"')


@pytest.mark.parametrize("neighbour", [".git/mine.cuh", "sub/.venv/deep/other.h", "notes.txt", "sub/table.csv"])
def test_what_no_source_includes_costs_no_entry_each_time(
    cu_file: Path, compilations: list[str], neighbour: str
) -> None:
    write(cu_file.with_name("mine.cuh"), "#define EXTRA 1.0f\n")
    for number in range(2):
        write(cu_file.parent / neighbour, f"#define OTHER {number}\n")
        compiled(cu_file, '#include "mine.cuh"')
    assert len(compilations) == 1


def test_the_cache_has_a_limit(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(cu_file, value="1.0f")
    one = entries()[0].stat().st_size
    monkeypatch.setattr(cache, "_BYTES", 3 * one + one // 2)
    for number in range(2, 7):
        compiled(cu_file, value=f"{number}.0f")
    assert 0 < sum(entry.stat().st_size for entry in entries()) <= 3 * one + one // 2


def test_a_line_that_is_spliced_in_another_systems_way_may_include(cu_file: Path, compilations: list[str]) -> None:
    cu_file.write_bytes(f'#inc\\\r\nlude "mine.cuh"\r\n{SOURCE}'.encode())
    codes: list[CompiledModule] = []
    for value in (1, 1, 2):
        if len(codes) != 1:
            write(cu_file.with_name("mine.cuh"), f"#define EXTRA {value}.0f\n")
        forget()
        codes.append(compiler.compile_plan(planned(cu_file, "EXTRA"), "90"))
    assert codes[0] == codes[1] != codes[2]
    assert len(compilations) == 2
