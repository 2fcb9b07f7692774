"""The sanitizer: an observer that finds hazards of a kernel."""
