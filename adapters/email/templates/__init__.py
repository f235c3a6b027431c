"""The mail templates. A package, so that they are installed with the program."""
