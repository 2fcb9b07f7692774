"""The command ``mmcore``."""

import gc

# What a command loads lives as long as its process: searching it for garbage takes a tenth of list-kernels' time.
gc.set_threshold(50_000)

from mmcore.cli.commandline import main as main  # noqa: E402
