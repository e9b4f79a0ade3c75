"""What ``mnemic doctor`` looks at: where it runs, the file, and each memory in it.

Each part yields findings and writes nothing, so that it can be asked about a store that is ill.
"""
