"""PTX: from text to instructions."""
