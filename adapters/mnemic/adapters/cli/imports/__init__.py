"""The commands that move memories from and to other systems."""
