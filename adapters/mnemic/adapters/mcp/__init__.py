"""The MCP interface: the operations as tools for agents, with resources and prompts.

It translates and holds no logic of its own; calls and documents come from ``remote``. ``tools``
groups the operations into tools and says why there are so few. ``session_handles`` and
``client_sessions`` hold the session handle of each client and say when its session begins and ends.
``stdio`` serves one client over a pipe, ``http_transport`` serves many over HTTP.

Inside this package ``import mcp`` means the official SDK, as imports are absolute. Its low-level
server is used instead of ``MCPServer``, which derives schemas from the signatures of Python
functions; here they come from the table of operations that all interfaces share. Importing the SDK
takes a second or two, so nothing outside this package imports it before it has to.
"""
