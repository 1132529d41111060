"""Entries for other programs to read."""
