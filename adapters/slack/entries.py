"""The names by which Slack calls us beside the buttons of a message: the command, the shortcuts, the
Home tab's buttons. The app's manifest holds the first three; the others are ours alone.
"""

from __future__ import annotations

from typing import Final

from adapters.slack.manifest import ASK_SHORTCUT, COMMAND, INBOX_SHORTCUT

__all__ = ["ASK_SHORTCUT", "COMMAND", "INBOX_SHORTCUT"]

REVIEW: Final = "sayso.review"  # opens one request from a list
PAGE: Final = "sayso.page"  # turns the page of a list; its value is the page's number
PAGES: Final = (f"{PAGE}.before", f"{PAGE}.next")

REVIEW_FORM: Final = "sayso.review-form"
ASK_FORM: Final = "sayso.ask-form"
LIST: Final = "sayso.list"  # the modal that holds a list; nothing is sent with it
