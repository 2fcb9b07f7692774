"""Hints for a wrong kernel of a file: readings, sizes and changes that are tried, and lines that explain it."""
