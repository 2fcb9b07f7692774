"""The pytest plugin: every registered kernel as a pytest-benchmark benchmark that is verified before it is timed."""
