"""Launches: batches of blocks, executed step by step."""
