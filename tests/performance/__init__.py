"""Tests of the reasons and predicted times of kernels."""
