"""The happens-before order of a launch: vector clocks, and what releases, acquires and joins them."""
