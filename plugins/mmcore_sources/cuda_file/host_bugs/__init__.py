"""Bugs of a file's host code, which mmcore does not run: a function for each, which yields what it finds.

- ``host`` reads the host code, and ``find`` asks all functions.
- ``launches``, ``exchanged_matrices``, ``coverage``, ``places``, ``copies``, ``timers``, ``cublas`` and
  ``shared_memory`` have the functions.
- ``unread_errors`` is a note about a whole program.
"""
