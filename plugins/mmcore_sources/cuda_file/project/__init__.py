"""The parts of its project that a file needs: headers, their includers, and sources of its functions and launches."""
