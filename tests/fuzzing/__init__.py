"""Random cases whose outcome is known without mmcore, tried by tests/fuzzing/test_fuzz.py and bench.studies.fuzz."""
