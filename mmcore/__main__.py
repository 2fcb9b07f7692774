"""The process of the command ``mmcore``, and of ``python -m mmcore``."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> None:
    """Run the command; Ctrl-C ends it quietly, while modules are imported too."""
    try:
        for descriptor in range(3):  # else the next file that is opened would be stdin, stdout or stderr
            if not os.path.exists(f"/dev/fd/{descriptor}"):
                os.open(os.devnull, os.O_RDWR)
        gc.set_threshold(50_000)  # what a command loads lives as long as it: collections take a tenth of list-kernels
        from mmcore.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)  # 128 + SIGINT
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # nothing is left to be interrupted
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))


if __name__ == "__main__":
    main()
