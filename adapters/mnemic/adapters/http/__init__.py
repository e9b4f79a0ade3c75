"""The HTTP door: Litestar on uvicorn. It translates, and holds no logic."""
