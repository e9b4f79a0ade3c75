"""Checkpoints as files: what folding a log has made, kept so that opening costs the tail alone.

A checkpoint is derived. It may be missing, torn, of another log or another release, and then it is
passed over; nothing is ever read from one that the log could not say too. ``layout`` are the bytes,
``folder`` the files and their names, ``keeper`` when one is written, taken up, and destroyed.
"""
