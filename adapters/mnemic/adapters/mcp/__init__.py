"""The MCP door: the verbs as tools for agents, with resources to read and prompts to begin from.

It translates and holds no logic; what there is to translate stands in ``wire``. The tools and why
there are so few of them: ``tools``. Who sits where, and when a session begins and ends: ``seats``.
``stdio`` serves one client over a pipe, ``mounting`` many over HTTP.

Inside this package ``import mcp`` means the official SDK, as imports are absolute. Its low-level
server is used, not ``MCPServer``: there schemas come from the signatures of Python functions, here
from the table of verbs that all doors share. Importing the SDK takes a second or two, so nothing
outside this package imports it before it has to.
"""
