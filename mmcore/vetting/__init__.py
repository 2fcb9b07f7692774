"""A third party's plugin is loaded in a process of its own first, to see what it does to the process that loads it."""
