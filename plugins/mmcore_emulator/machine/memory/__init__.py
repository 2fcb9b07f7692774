"""The memories of a launch: arrays, addresses, and accesses that are checked."""
