"""Fixtures of the tools' tests."""

from __future__ import annotations

import builtins
from typing import Any

import pytest


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let imports of matplotlib fail."""
    imported = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return imported(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
