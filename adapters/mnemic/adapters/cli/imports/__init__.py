"""The commands that bring memories and messages in, and that take memories to other systems."""
