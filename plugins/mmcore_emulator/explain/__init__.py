"""Pictures of the threads that hold the elements of a matrix, and of the banks that an access touches."""
