"""The worker process: ``python -m mmcore.executor DEVICE DESCRIPTOR``."""

import sys

from mmcore.executor.worker import serve

serve(sys.argv[1], int(sys.argv[2]))
