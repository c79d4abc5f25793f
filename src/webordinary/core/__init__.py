"""Nouns and rules. Standard library only; knows nothing of stores, mail or clocks."""
