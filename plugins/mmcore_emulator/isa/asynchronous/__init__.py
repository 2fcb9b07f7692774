"""Asynchronous instructions: mbarrier objects, copies, and wgmma."""
