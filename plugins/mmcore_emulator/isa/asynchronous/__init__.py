"""What asynchronous instructions work with: mbarrier objects, tensor maps, and the operands of wgmma."""
