"""The page's templates and style sheet. A package, so that they are installed with the program."""
