"""Databases of every earlier schema, with what the Sayso of that schema wrote into them.

`fill.py` made `tests/data/upgrade/*.json`, run by the program of that time; a new migration comes with a file
of the schema before it.
"""
