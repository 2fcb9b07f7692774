"""Reasons are found in kernels that have them, at the right line, and not in the same kernels without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import mmcore
from tests.kernel_sources import kernel_sources

SOURCES = kernel_sources("slow")
KINDS = tuple(title.removesuffix(": slow") for title in SOURCES if title.endswith(": slow"))
# The sizes of some kinds; others are at 1024. An H200 has 132 multiprocessors.
SIZES = {"last wave": 384, "few blocks": 256}


def why(path: Path, title: str, *options: str) -> dict[str, Any]:
    """Return the answer about a source as JSON."""
    kind = title.partition(":")[0]
    file = path / "mm.cu"
    file.write_text(SOURCES[title])
    result = mmcore("why", str(file), "--size", str(SIZES.get(kind, 1024)), "--json", *options)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_reason_is_the_mistake_at_its_line(kind: str, tmp_path: Path) -> None:
    first = why(tmp_path, f"{kind}: slow")["reasons"][0]
    lines = [number for number, text in enumerate(SOURCES[f"{kind}: slow"].splitlines(), 1) if "// here" in text]
    assert (first["kind"], first["line"]) == (kind, *(lines or [0]))


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_mistake_it_is_no_reason(kind: str, tmp_path: Path) -> None:
    assert kind not in [reason["kind"] for reason in why(tmp_path, f"{kind}: better")["reasons"]]
