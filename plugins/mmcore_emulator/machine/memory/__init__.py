"""The memories of a launch: arrays, addresses, and checked accesses."""
