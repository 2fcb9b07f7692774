"""Bulk copies and reductions between global and shared memory."""
