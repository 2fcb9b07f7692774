"""Hazards of asynchronous copies and products: shared memory, mbarriers, proxies, and registers of wgmma."""
