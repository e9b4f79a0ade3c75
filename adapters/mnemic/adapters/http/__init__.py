"""The HTTP interface: Litestar on uvicorn. It translates requests and holds no domain logic."""
