"""Where a product is judged: fresh inputs, the reference, the error bound and the verification."""
