"""The profiler: counters of instructions, accesses and their costs in memory."""
