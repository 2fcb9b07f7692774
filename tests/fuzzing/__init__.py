"""Random cases whose outcome is known without mmcore, for tests/fuzzing/test_fuzz.py and bench/studies/fuzz.py."""
