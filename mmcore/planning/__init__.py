"""Planning: from a kernel, a problem and a config to launches. Imports neither CUDA nor numpy."""
