"""The emulator as a device of mmcore, with its commands: check, profile and explain."""
