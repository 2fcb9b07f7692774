"""Where a launch is compiled and made: the compiler, the devices, and the arguments they exchange."""
