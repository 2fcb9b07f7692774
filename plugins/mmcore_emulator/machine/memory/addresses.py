"""Generic addresses: the windows of the memories, and the blocks of a cluster within shared memory."""

from __future__ import annotations

# Generic addresses of shared and local memory and of parameters; device arrays lie far above.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
WINDOWS = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAMETER_WINDOW))
"""The memories that a generic address can lead into, and where the window of each begins."""
# An address in shared memory of another block of the cluster has that block's rank, plus one, in its upper bits.
RANK_SHIFT = 27
RANK_BEGIN = 1 << RANK_SHIFT
MOST_RANK = SHARED_WINDOW // RANK_BEGIN - 2
"""The rank that an address holds for every rank from there on, which no cluster has."""
