"""What a kernel does, counted: the profiler."""
