"""The reader that tests the tutorial follows the steps of a page and stops at output that differs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.walkthrough import Reader

PAGE = """\
Write a list, `notes/list.txt`:

```text
bread
milk
tea
```

and have another drink, in `notes/list.txt`:

```diff
 bread
-milk
+coffee
@@
-tea
+cocoa
```

```console
$ cd notes
$ cat list.txt
bread
coffee
cocoa
$ grep milk list.txt
$ echo $?
1
$ echo oops >&2; pwd | sed 's,.*/,,'
oops
notes
```

```text
Nothing to do.
```
"""


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path, {"PATH": os.environ["PATH"], "LANG": "C"}, lambda typed, printed: printed)


def test_files_are_written_and_changed_and_commands_follow_each_other_in_one_shell(
    reader: Reader, tmp_path: Path
) -> None:
    reader.follow(PAGE)
    assert (tmp_path / "notes" / "list.txt").read_text() == "bread\ncoffee\ncocoa\n"
    assert reader.folder == tmp_path / "notes"


@pytest.mark.parametrize(
    ("shown", "other", "said"),
    [
        ("cat list.txt\nbread\n", "cat list.txt\nbeer\n", r"line 20: \$ cat list.txt(.|\n)*-beer\n\+bread"),
        ("cocoa\n$ grep", "$ grep", r"\+cocoa"),
        ("oops\nnotes\n", "notes\noops\n", "oops"),
        ("$ echo $?\n1\n", "", r"grep milk list.txt\nexits with 1"),
        ("$ echo $?\n1\n", "$ echo $?\n0\n", r"-0\n\+1"),
        ("-milk", "-wine", "list.txt has the lines to replace 0 times"),
        ("-milk", "*milk", "begins with neither"),
        ("$ cd notes", "cd notes", "output without a command"),
        ("Write a list, `notes/list.txt`:\n\n```text", "Write a list:\n\n```sh", "neither a command, nor a file"),
    ],
)
def test_what_does_not_come_out_as_shown_is_an_error(reader: Reader, shown: str, other: str, said: str) -> None:
    assert PAGE.count(shown) == 1
    with pytest.raises(AssertionError, match=said):
        reader.follow(PAGE.replace(shown, other))
