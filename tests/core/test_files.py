"""Reading and writing of files that a user, a plugin or the cache names."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmcore import Kernel, MmcoreError
from mmcore.files import DATA_BYTES, TEXT_BYTES, read_bytes, read_lines, read_text, replace, write
from mmcore.registry import registry
from mmcore_cuda.binaries.compiler import code_of
from mmcore_cuda.tuned_configs.files import read as read_tuning
from mmcore_engines.journal import Journal
from mmcore_tools.experiments.results import Store
from mmcore_tools.history.reading import read as read_history
from mmcore_tools.plots.published import _read as read_published
from mmcore_tools.plots.reading import read as read_results
from tests.command_line import mmcore


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_large_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(DATA_BYTES + 1)


def a_folder(path: Path) -> None:
    path.mkdir()


Make = Callable[[Path], None]
NOT_READ: dict[str, tuple[Make, str]] = {
    "a pipe": (a_pipe, "it is not a regular file"),
    "a device": (a_device, "it is not a regular file"),
    "a large file": (a_large_file, r"it has more than (8|64) MiB"),
}
every_other_file = pytest.mark.parametrize(("make", "reason"), NOT_READ.values(), ids=NOT_READ)


def kernel(path: Path) -> Kernel:
    return Kernel(name="acme.tiled", configs=[{"block": 8}], source=path, arguments=("A", "B", "C", "m", "n", "k"))


def optunas_storage(path: Path) -> object:
    pytest.importorskip("optuna")
    from mmcore_tools.tune.search import storage

    if path.is_file():
        pytest.skip("it is read line by line")
    return storage(str(path), path.parent)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a source": ("kernel.cu", lambda path: registry().kernel(str(path))),
    "a declared source": ("kernel.cu", lambda path: kernel(path).source_text()),
    "PTX": ("kernel.ptx", lambda path: kernel(path).source_text()),
    "machine code": ("kernel.cubin", lambda path: code_of(SimpleNamespace(kernel=kernel(path)), "90")),  # type: ignore
    "a tuning file": ("card.json", lambda path: [*read_tuning(path, "your own")]),
    "results to plot": ("results.json", lambda path: read_results([path])),
    "published times": ("published.csv", read_published),
    "Optuna's storage": ("studies.log", optunas_storage),
}


@every_other_file
@pytest.mark.parametrize(("name", "read"), READERS.values(), ids=READERS)
def test_only_regular_files_read(
    tmp_path: Path, name: str, read: Callable[[Path], object], make: Make, reason: str
) -> None:
    make(tmp_path / name)
    with pytest.raises(MmcoreError, match=reason) as raised:
        read(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)


@every_other_file
def test_a_history_leaves_out_what_is_not_read(tmp_path: Path, make: Make, reason: str) -> None:
    make(tmp_path / "0001.json")
    problems = read_history(tmp_path).problems
    assert len(problems) == (make is a_large_file)
    (tmp_path / "0001.json").unlink()


@every_other_file
def test_results_of_an_experiment_are_not_read_from_anything_else(tmp_path: Path, make: Make, reason: str) -> None:
    for name in ("a.json", "b.unfinished.jsonl"):
        make(tmp_path / name)
    with pytest.raises(OSError, match=reason):
        Store(tmp_path, "a").measured({})
    if make is not a_large_file:
        with pytest.raises(OSError, match=reason):
            Store(tmp_path, "b").measured({})
        with pytest.raises(OSError, match=reason):
            Journal(tmp_path / "b.unfinished.jsonl", {})


def test_results_of_more_lists_than_memory_has_room_for_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(f'{{"machine_info": {{"mmcore": {{}}}}, "benchmarks": [{"[]," * (1 << 20)}[]]}}')
    with pytest.raises(MmcoreError, match="it has more lists and objects than results have"):
        read_results([path])


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(TEXT_BYTES))
    assert len(read_bytes(path, TEXT_BYTES)) == len(read_text(path)) == TEXT_BYTES
    with path.open("ab") as file:
        file.write(b"!")
    with pytest.raises(OSError, match="it has more than 8 MiB"):
        read_text(path)


def test_text_is_read_without_a_mark_another_systems_line_ends_or_a_size_and_in_lines(tmp_path: Path) -> None:
    assert read_text("/proc/self/status").startswith("Name:")
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"
    path.write_bytes(b"a\n" + b"b" * (3 << 19) + b"\nc")
    assert [len(line) for line in read_lines(path)] == [2, 1 << 20, (1 << 19) + 1, 1]


# Writing.


def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill the disk as far as :func:`replace` sees it."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("function", [write, replace])
def test_on_a_full_disk_the_file_before_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Callable[[Path, bytes], None]
) -> None:
    path = tmp_path / "figure.svg"
    path.write_text("before")
    no_room(monkeypatch)
    with pytest.raises(OSError, match=r"No space left on device: '.*figure\.svg'"):
        function(path, b"after")
    assert [each.name for each in tmp_path.iterdir()] == ["figure.svg"]
    assert path.read_text() == "before"


def test_a_file_that_is_replaced_keeps_its_mode_and_a_link_to_it(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    write(link, b"after")
    assert (link.is_symlink(), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (True, "after", 0o640)
    replace(link, b"in its place")
    assert (link.is_symlink(), path.read_text()) == (False, "after")


def test_a_new_file_has_the_mode_that_the_user_gives_to_files(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    a_pipe(tmp_path / "pipe")
    (tmp_path / "full").symlink_to("/dev/full")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write(tmp_path / "pipe", b"content")
    reader.join()
    assert read == [b"content"]
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "full", b"content")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_may_not_be_written_to_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError):
        write(tmp_path / "file", b"after")
    assert (tmp_path / "file").read_text() == "before"


@pytest.mark.parametrize("path", ["no/such/folder/file", "file/below", "", "."])
def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(OSError, match=r"(No such file or|Not a|Is a) directory"):
        write(Path(path), b"")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("explain", "upc.kernel10", "--svg"), "drawn.svg"),
        (("plot", "bench/results/nvidia-h200/experiments/upc-transfers.json", "-o"), "drawn.png"),
        (("plot", "bench/results/nvidia-h200/experiments/upc-transfers.json", "-o"), "drawn.html"),
    ],
)
def test_a_full_disk_keeps_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str
) -> None:
    path = tmp_path / name
    path.write_text("before")
    no_room(monkeypatch)
    result = mmcore(*words, str(path))
    assert (result.exit_code, path.read_text()) == (2, "before")
    assert "cannot be written: No space left on device" in result.stderr
