"""A reader of PTX: from text to instructions."""
