"""What a launch does, counted: how much work, how many accesses, how well they are coalesced."""
