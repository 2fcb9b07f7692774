"""Generic addresses: the windows of the memories, and the blocks of a cluster within shared memory."""

from __future__ import annotations

# Generic addresses of shared, local and parameter memory; device arrays have far higher addresses.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
WINDOWS = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAMETER_WINDOW))
"""The memories of generic addresses, and the begin of each one's window."""
# An address in another block's shared memory contains that block's rank, plus one, in its upper bits.
RANK_SHIFT = 27
RANK_BEGIN = 1 << RANK_SHIFT
MOST_RANK = SHARED_WINDOW // RANK_BEGIN - 2
"""The rank in addresses for this rank and all higher ones; no cluster has as many blocks."""
