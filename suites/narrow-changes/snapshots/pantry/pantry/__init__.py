"""What is in the pantry: a small library without dependencies."""
