"""What Sayso itself says to people: one TOML file a language, and `catalogue.py` to read them."""
