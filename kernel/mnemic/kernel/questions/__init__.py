"""What a question asks for, and of whom, by its words."""
