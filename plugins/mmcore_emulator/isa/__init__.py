"""What each instruction is and does."""
