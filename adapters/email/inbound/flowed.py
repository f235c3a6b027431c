"""format=flowed -> lines as they were meant (RFC 3676). Pure.

Runs before quoted text is cut: an attribution that was wrapped softly is one line again. A signature's
`-- ` is never joined.
"""

from __future__ import annotations


def unflow(text: str, *, delsp: bool) -> str:
    """Soft breaks joined, stuffed spaces removed, quote depth kept as `> `."""
    out: list[str] = []
    open_depth = -1  # the depth of the paragraph that the last line left open
    for line in text.split("\n"):
        bare = line.lstrip(">")
        depth = len(line) - len(bare)
        bare = bare.removeprefix(" ")
        flows = bare.endswith(" ") and bare != "-- "
        if flows and delsp:
            bare = bare[:-1]
        if open_depth == depth and bare != "-- ":
            out[-1] += bare
        else:
            out.append((">" * depth + " " if depth else "") + bare)
        open_depth = depth if flows else -1
    return "\n".join(out)
