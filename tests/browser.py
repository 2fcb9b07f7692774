"""A headless Chromium that reads a page back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE, DESK = 390, 1100
DARK, LIGHT = 0, 1
COLOURS = {DARK: ("rgb(20, 24, 29)", "rgb(230, 230, 230)"), LIGHT: ("rgb(255, 255, 255)", "rgb(34, 34, 34)")}
"""The paper and the ink of a page by the reader's choice."""


def read_back(text: str, width: int, scheme: int, folder: Path) -> dict[str, Any]:
    """Return what tests/data/read_back.html finds in a page of so many pixels."""
    assert CHROMIUM is not None
    (folder / "page.html").write_text(text, encoding="utf-8")
    reader = (Path(__file__).parent / "data" / "read_back.html").read_text(encoding="utf-8")
    (folder / "reader.html").write_text(reader.replace("PAGE", "page.html").replace("WIDTH", str(width)))
    dumped = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"),
            *(f"--user-data-dir={folder / 'profile'}", f"--blink-settings=preferredColorScheme={scheme}"),
            *("--virtual-time-budget=20000", "--window-size=1200,1000", "--dump-dom"),
            (folder / "reader.html").as_uri(),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    ).stdout
    pre = re.search(r'<pre id="found">(.*?)</pre>', dumped, re.DOTALL)
    assert pre is not None
    found: dict[str, Any] = json.loads(unescape(pre[1]))
    return found
