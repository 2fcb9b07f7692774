"""HTML pages in one file that loads nothing: their template, and the parts that all of them have."""
