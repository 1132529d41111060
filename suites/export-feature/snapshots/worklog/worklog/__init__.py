"""Working hours in text files, and questions about them."""
