"""Random cases with known outcomes, for tests/fuzzing/test_fuzz.py and bench/studies/fuzz.py."""
