"""The command ``mmcore``."""

from mmcore.cli.commandline import main as main
