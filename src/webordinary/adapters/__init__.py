"""The world's end of the ports."""
