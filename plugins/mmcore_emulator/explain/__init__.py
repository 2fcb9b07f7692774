"""What people draw on paper: who holds which element of a matrix, and which bank each access touches."""
