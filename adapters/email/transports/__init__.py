"""The ways by which a mail leaves: one port (`port.py`), and a file for each provider."""
