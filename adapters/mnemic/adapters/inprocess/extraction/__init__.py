"""Running an extractor over messages, and the results of what it found."""
