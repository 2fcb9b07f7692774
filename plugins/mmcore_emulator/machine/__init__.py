"""What instructions act on: lanes, warps, memory, events."""
