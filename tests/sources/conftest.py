"""The working folder of tests that write sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.registry import registry


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder; the kernels of files are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    return tmp_path
