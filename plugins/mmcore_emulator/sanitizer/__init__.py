"""What a kernel does that it must not: the sanitizer."""
