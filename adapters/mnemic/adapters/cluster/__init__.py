"""Several hosts that serve the spaces of one PostgreSQL database, each space led by one of them."""
