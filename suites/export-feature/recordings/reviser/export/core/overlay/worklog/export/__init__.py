"""Entries in a form that other programs read."""
