"""Where a launch is planned: problem, kernel, launch rule and constraints. Imports neither CUDA nor numpy."""
