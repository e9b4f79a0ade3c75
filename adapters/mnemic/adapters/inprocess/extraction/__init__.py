"""Messages in, facts out: operations on messages and facts, and what runs an extractor."""
