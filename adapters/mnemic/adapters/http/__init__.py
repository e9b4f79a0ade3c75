"""The HTTP interface: Litestar on uvicorn. It translates, and holds no logic."""
