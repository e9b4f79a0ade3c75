"""Extractors: what finds facts in messages, and the formats in which messages arrive.

``absent``    none: messages are kept and nothing is extracted
``rules``     sentences of the speaker about themselves, by patterns, without a model
``chat``      a chat model behind an OpenAI-compatible endpoint
``messages``  messages of OpenAI, Anthropic and LangChain as lessons
"""
