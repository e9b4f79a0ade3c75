"""Checkpoint files: the state replayed from a log, kept so that opening replays the tail alone.

A checkpoint is derived. It may be missing, torn, of another log or another release, and is ignored
then; nothing is ever read from one that the log does not contain too. ``layout`` defines the bytes,
``array_file`` the arrays that several share, ``files`` and ``directory`` the files and their names,
``draft`` writes what one lacks, ``inspection`` checks whether one fits a log, and
``writer`` decides when one is written, loaded, and destroyed.
"""
