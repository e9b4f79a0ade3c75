"""The frontier: what has never been put together and looks worth it."""
