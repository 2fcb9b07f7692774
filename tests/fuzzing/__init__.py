"""Random cases whose outcome is known without mmcore's help, tried by tests/fuzzing/test_fuzz.py and bench/fuzz.py."""
