"""Value types used by decisions and queries: blocks, edges, texts, vectors and ids."""
