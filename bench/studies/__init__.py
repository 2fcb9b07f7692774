"""How each published figure was measured."""
