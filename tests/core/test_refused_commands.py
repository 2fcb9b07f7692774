"""Commands that cannot be carried out: exit status 2, and one sentence on stderr."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import mmcore

REFUSED = re.findall(
    r"^\$ (.*)\n(.*)$", (Path(__file__).parents[1] / "data" / "refused_commands.txt").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("command", "words"), REFUSED)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(
    command: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = mmcore(*shlex.split(command))
    assert (result.exit_code, result.stdout) == (2, "")
    *_, sentence = result.stderr.splitlines()
    assert result.stderr.count("Error: ") == 1
    assert sentence.startswith("Error: ")
    assert words in sentence
    assert [*tmp_path.iterdir()] == []
