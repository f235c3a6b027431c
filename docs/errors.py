"""Makes errors.md from the registry of error codes: `python docs/errors.py`."""

from __future__ import annotations

from pathlib import Path

from schemas.errors import REGISTRY

PAGE = Path(__file__).parent / "errors.md"
HEAD = """\
# Errors

Every refusal is one closed JSON object at the status that its code is registered with:

```json
{ "error": "validation_error", "message": "timeout is a whole number from 1 to 60.", "details": {} }
```

Decide by `error`, never by `message`. `details` is optional. How long to wait is in the `Retry-After`
header and nowhere else. Neither a token nor an idempotency key nor a secret is ever in an error.
A code that starts with `sayso.` is ours; the others are the protocol's.

| Status | Code | When | What to do |
| --- | --- | --- | --- |
"""
FOOT = """
This page is made by `python docs/errors.py` from `schemas/errors.py`.
"""


def page() -> str:
    """The text of the page."""
    rows = (
        f"| {found.status} | `{code}` | {found.when} | {found.then} |\n"
        for code, found in sorted(REGISTRY.items(), key=lambda item: (item[1].status, item[0]))
    )
    return HEAD + "".join(rows) + FOOT


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
