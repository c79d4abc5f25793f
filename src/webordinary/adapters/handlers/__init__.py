"""Whoever carries jobs out, until the coding agent does: any program, or a built-in that does little."""
