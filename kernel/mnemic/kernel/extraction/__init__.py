"""Facts that an extractor proposes: whether the messages bear them out, and what each does.

``grounding``   whether a fact is borne out by what it quotes
``accepting``   what an accepted fact inherits from its messages, and the events that it causes
``deciding``    the decision of an extraction, with the events that its facts cause
"""
