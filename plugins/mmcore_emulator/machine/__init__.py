"""The state that instructions act on: lanes, warps, memory, events."""
