"""``python -m mmcore.launching.isolation DESCRIPTOR``: the worker process."""

import sys
from multiprocessing.connection import Connection

from mmcore.launching.isolation.worker import serve

serve(Connection(int(sys.argv[1])))
