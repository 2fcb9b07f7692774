"""The proof that a launch computes a product: a second value, from a finite field, beside each element."""
