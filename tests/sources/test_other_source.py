"""Another version of a source: a folder's, or a revision's, of an untrusted repository."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmcore import InvalidKernel, Kernel
from mmcore.registry import registry
from mmcore_sources.cuda_file.revisions import source_revision


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Create a Git repository with two versions of a kernel and its header, and return the kernel's folder."""
    folder = tmp_path / "repository" / "kernels"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "--quiet")
    for text in ("old", "new"):
        for name in ("tiled.cu", "tiled.cuh"):
            (folder / name).write_text(f"// {text} {name}")
        commit(folder.parent, text)
    return folder.parent


def commit(repository: Path, tag: str) -> None:
    git(repository, "add", ".")
    git(repository, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", tag)
    git(repository, "tag", "--force", tag)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def of(source: Path) -> Kernel:
    return Kernel(name="acme.tiled", configs=[{"block": 8}], source=source)


def revision(kernel: Kernel, version: str | Path) -> str:
    """Return the text of another version of the kernel's source."""
    return Path(source_revision(kernel, str(version))).read_text()


@pytest.mark.parametrize("tag", ["old", "HEAD~1"])
def test_a_revision_is_unpacked_with_the_other_files_of_its_folder(repository: Path, tmp_path: Path, tag: str) -> None:
    kernel = of(repository / "kernels" / "tiled.cu")
    kernel.source.write_text("// being edited")
    for _ in range(2):
        found = Path(source_revision(kernel, tag))
        assert found.read_text() == "// old tiled.cu"
        assert found.with_suffix(".cuh").read_text() == "// old tiled.cuh"
    assert revision(kernel, "HEAD") == "// new tiled.cu"
    assert kernel.source.read_text() == "// being edited"
    link = tmp_path / "link.cu"
    link.symlink_to(kernel.source)
    assert revision(of(link), tag) == "// old tiled.cu"
    assert registry().source_revision(kernel, "") == ""


def test_in_a_folder_the_nearest_file_of_that_name_is_taken(tmp_path: Path) -> None:
    for place in ("a/b/c", "z/y", "."):
        (tmp_path / "other" / place).mkdir(parents=True, exist_ok=True)
    (tmp_path / "other" / "a" / "b" / "c" / "tiled.cu").write_text("deep")
    (tmp_path / "other" / "z" / "y" / "tiled.cu").write_text("near")
    kernel = of(tmp_path / "tiled.cu")
    assert revision(kernel, tmp_path / "other") == "near"
    (tmp_path / "other" / "tiled.cu").write_text("nearest")
    assert revision(kernel, tmp_path / "other") == "nearest"


def test_a_version_that_is_not_there_is_one_sentence(repository: Path, tmp_path: Path) -> None:
    tiled, added = (repository / "kernels" / name for name in ("tiled.cu", "added.cu"))
    later = repository / "later" / "tiled.cu"
    later.parent.mkdir()
    for each in (added, later):
        each.write_text("// not in Git yet")
    (tmp_path / "tiled.cu").write_text("// in no repository")
    (tmp_path / "empty").mkdir()
    neither = "acme.tiled: {} is neither a folder, nor a revision of the Git repository of {}"
    sentences = [
        (tiled, "no-such", neither.format("no-such", tiled)),
        (tmp_path / "tiled.cu", "HEAD", neither.format("HEAD", tmp_path / "tiled.cu")),
        (later, "old", f"acme.tiled: there is no {later} in old"),
        (added, "old", f"acme.tiled: there is no {added} in old"),
        (tiled, str(tmp_path / "empty"), f"acme.tiled: there is no tiled.cu in {tmp_path / 'empty'}"),
    ]
    for source, version, sentence in sentences:
        with pytest.raises(InvalidKernel) as raised:
            source_revision(of(source), version)
        assert str(raised.value) == sentence


def test_the_files_of_a_killed_unpacking_are_not_used(repository: Path) -> None:
    folder = repository / "kernels"
    (folder / "more.cuh").write_text("// a third file")
    commit(repository, "old")
    code = (Path(__file__).parents[1] / "data" / "killed_while_unpacking.txt").read_text()
    killed = subprocess.run([sys.executable, "-c", code, folder / "tiled.cu"], cwd=Path(__file__).parents[2])
    assert killed.returncode == 9
    found = Path(source_revision(of(folder / "tiled.cu"), "old"))
    assert sorted(path.name for path in found.parent.iterdir()) == ["more.cuh", "tiled.cu", "tiled.cuh"]


@pytest.mark.parametrize("target", ["/nowhere/tiled.cuh", "../../../../tiled.cuh", "tiled.cuh"])
def test_a_link_in_a_revision_stays_a_link(repository: Path, target: str) -> None:
    (repository / "kernels" / "link.cuh").symlink_to(target)
    commit(repository, "linked")
    found = Path(source_revision(of(repository / "kernels" / "tiled.cu"), "linked"))
    assert os.readlink(found.with_name("link.cuh")) == target


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """Write a program that creates the file "sprung" next to it when it runs, and return its path."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    program.chmod(0o755)
    return program


PROGRAMS = (
    *("filter.a.smudge", "filter.a.clean", "filter.a.process", "diff.a.textconv", "diff.a.command", "diff.external"),
    *("core.fsmonitor", "core.pager", "pager.ls-tree", "pager.cat-file", "core.sshCommand", "core.editor"),
    *("core.askPass", "core.gitProxy", "gpg.program", "credential.helper", "sequence.editor", "tar.tar.command"),
    *("alias.ls-tree", "alias.cat-file", "alias.rev-parse", "alias.archive"),
)


def test_no_program_of_a_repository_is_run(repository: Path, trap: Path) -> None:
    (repository / "kernels" / ".gitattributes").write_text("* filter=a diff=a export-subst eol=crlf\n")
    (repository / "kernels" / "tiled.cu").write_text("// $Format:%H$\n")
    commit(repository, "hostile")
    for key in PROGRAMS:
        git(repository, "config", key, f"!{trap}" if key.startswith("alias") else str(trap))
    (repository / "hooks").mkdir()
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (repository / "hooks" / hook).symlink_to(trap)
    git(repository, "config", "core.hooksPath", str(repository / "hooks"))
    found = Path(source_revision(of(repository / "kernels" / "tiled.cu"), "hostile"))
    assert found.read_text() == "// $Format:%H$\n"
    assert not trap.with_name("sprung").exists()


def test_missing_objects_of_a_partial_clone_are_not_fetched(repository: Path, trap: Path) -> None:
    lacking = subprocess.check_output(["git", "rev-parse", "old:kernels/tiled.cuh"], cwd=repository, text=True).strip()
    (repository / ".git" / "objects" / lacking[:2] / lacking[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "a",
        "remote.a.promisor": "true",
        "remote.a.url": f"ext::{trap}",
        "protocol.ext.allow": "always",
    }.items():
        git(repository, "config", key, value)
    with pytest.raises(InvalidKernel, match=r"old cannot be unpacked into the cache: .* has no tiled\.cuh that can be"):
        source_revision(of(repository / "kernels" / "tiled.cu"), "old")
    assert not trap.with_name("sprung").exists()


@pytest.mark.parametrize("key", ["include.path", "core.worktree"])
@pytest.mark.parametrize("value", [".", "pipe"])
def test_odd_git_configs(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    git(repository, "config", key, str(tmp_path / value))
    monkeypatch.setattr("mmcore_sources.cuda_file.revisions._SECONDS", 0.5)
    with pytest.raises(InvalidKernel, match=r"^acme\.tiled: "):
        source_revision(of(repository / "kernels" / "tiled.cu"), "old")


def test_a_replaced_object_of_a_repository_is_not_taken(repository: Path) -> None:
    old, new = ("old:kernels/tiled.cu", "new:kernels/tiled.cu")
    git(repository, "replace", old, new)
    assert revision(of(repository / "kernels" / "tiled.cu"), "old") == "// old tiled.cu"


@pytest.mark.parametrize("version", ["--all", "--git-dir", "@{99}", "{0}", "HEAD:kernels", "x" * 5000, "a\0b"])
def test_an_invalid_revision_is_one_sentence(repository: Path, version: str) -> None:
    with pytest.raises(InvalidKernel, match=r"is neither a folder, nor a revision"):
        source_revision(of(repository / "kernels" / "tiled.cu"), version)


def test_a_full_disk_is_one_sentence(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InvalidKernel, match=r"old cannot be unpacked into the cache: No space left on device$"):
        source_revision(of(repository / "kernels" / "tiled.cu"), "old")
    monkeypatch.undo()
    assert revision(of(repository / "kernels" / "tiled.cu"), "old") == "// old tiled.cu"
