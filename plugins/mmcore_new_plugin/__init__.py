"""A third party's package, written to start from: its names, its files, and the place they go to."""
