"""The emulator for any kernel: ``launch`` runs PTX or CUDA C++ on numpy arrays, without mmcore."""
