"""The pages of a trial: itself, its change, what its agent did, and its texts."""
