"""The reports of the gallery: ``python docs/gallery.py FOLDER`` writes them; the site has them in ``gallery/``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).with_name("gallery")
REPORTS = {
    "tiled": "upc.kernel11 --size 256",
    "remainder": "remainder.cu --size 65",
    "race": "race.cu --size 64",
    "rows": "rows.cu --size 256 --block 16",
    "banks": "lezione9.kernel2 --size 128",
    "local": "local.cu --size 128 --block 16 --grid ceil(n/bx),ceil(m/(4*by))",
    "hang": "hang.cu --size 64 --block 16",
    "cupy": "products.py --size 100",
    "wgmma": "ladder.bf16.09_ring --size 256",
    "float64": "ladder.f64.04_int8 --size 64",
}
"""The arguments of ``mmcore report`` for each page; the last take longest."""


def write(name: str, folder: Path) -> str:
    """Write one report into a folder; return the line that the command prints."""
    command = [sys.executable, "-m", "mmcore", "report", *shlex.split(REPORTS[name])]
    command += ["--device", "emulator", "--seed", "1", "--quiet", "-o", str((folder / f"{name}.html").resolve())]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, encoding="utf-8", check=False)
    if ran.returncode > 1:  # 1 is the status of a wrong kernel
        raise RuntimeError(f"{shlex.join(command)} exits with {ran.returncode}: {ran.stderr}")
    return ran.stdout.strip()


def write_all(folder: Path) -> None:
    """Write all reports into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as several:
        list(several.map(lambda name: write(name, folder), reversed(REPORTS)))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
