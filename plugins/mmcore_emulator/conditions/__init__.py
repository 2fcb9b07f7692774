"""The comparisons of a kernel's code, and their outcomes for launches that have not run."""
