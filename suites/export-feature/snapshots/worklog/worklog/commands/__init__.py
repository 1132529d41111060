"""The commands. A module with a `NAME` is one: `arguments(parser)` and `run(given, settings)`."""
