"""Contracts of the interfaces of other frameworks: the cases of their own tests, restated.

A contract imports no framework. It calls what it is given as the framework would, and takes the
classes of the framework from the test that uses it.
"""
