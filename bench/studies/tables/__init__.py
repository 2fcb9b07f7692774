"""The documentation's tables of figures, made from the committed results.

``python -m bench.studies tables`` writes them between their markers in README.md and docs/; a test compares them.
"""
