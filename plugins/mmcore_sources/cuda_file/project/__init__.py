"""What a file needs of its project: headers, their includers, and sources that define or launch its functions."""
