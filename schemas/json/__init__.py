"""The exported JSON Schema documents. Made by `python -m schemas.export`."""
