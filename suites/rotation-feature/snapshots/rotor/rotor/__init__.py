"""Keeps log files small."""
