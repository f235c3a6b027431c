"""Signed events of payment providers, code forges and anyone else who can call a URL."""
