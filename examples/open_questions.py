"""Prints each open question of a local gateway with a link to its answer page.

For trying things out without Slack or mail: whoever has such a link may answer. A question that lists its
approvers needs the name of one of them: `open_questions.py ada`.
"""

import os
import sys
from pathlib import Path

import httpx

ROOT = "/host/sayso/interrupts"


def main() -> None:
    data = Path(os.environ.get("SAYSO_DATA_DIR", "var"))
    if not (data / "dev-api-key").exists():
        sys.exit(f"No gateway has run in {data.resolve()}: start one with `make run`.")
    key = (data / "dev-api-key").read_text().strip()
    person = {"principal": sys.argv[1]} if len(sys.argv) > 1 else {}
    with httpx.Client(
        base_url=(data / "url").read_text().strip(),
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,  # the gateway is on this machine: no proxy in between
    ) as http:
        listing = http.get(ROOT, params={"status": "open"}).raise_for_status().json()
        for found in listing["interrupts"]:
            path = f"{ROOT}/{found['interruptId'].replace('/', '~2F')}"
            minted = http.post(f"{path}/tokens", json={"intent": "resolve", **person})
            link = minted.json().get("url") or minted.json().get("message")
            print(f"{found['kind']}  {found['nodeId']}\n  {link}")


if __name__ == "__main__":
    main()
