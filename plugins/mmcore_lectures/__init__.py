"""The kernels of five university lectures, one module and one .cu file a variant, and their presets."""
