"""Text on disk or generated -> sentences -> padded integer arrays."""
