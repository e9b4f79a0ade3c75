"""Facts that an extractor proposes: whether the messages bear them out, and what each does.

``grounding``   whether a fact is borne out by what it quotes
``deciding``    the decision of an extraction, with the events that its facts cause
"""
