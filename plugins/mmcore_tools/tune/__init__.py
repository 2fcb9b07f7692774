"""The search for a kernel's fastest config with Optuna: the command ``mmcore tune``."""
