"""The tests, which may run in as many processes as there are cores, so that each multiplies matrices in one thread."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
