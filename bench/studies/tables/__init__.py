"""The documentation's tables of figures, made from the committed results.

``python -m bench.studies tables`` writes them between their markers in docs/; a test compares them.
"""
