"""The reasons why a kernel is slow, a module for related kinds."""
