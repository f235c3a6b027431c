"""A worker of a branching session: it asks before it sends an email. Python's standard library only.

    WORKER_SECRET=... python examples/session_worker.py 9000

and in the gateway's configuration:

    [substructure.agents.assistant]
    url = "http://127.0.0.1:9000/"
    secret = "..."

    [egress]
    allow = ["http://127.0.0.1:9000"]
"""

import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def decide(request: dict[str, Any]) -> Any:
    trigger = request["trigger"]
    if trigger["type"] == "client.messages":  # instead of a model: every message becomes an email
        call = {"type": "tool.call", "name": "send_email", "arguments": trigger["messages"][-1]}
        return {"messages": trigger["messages"][trigger["new_from"] :], "actions": [call]}
    if trigger["type"] == "tool.execute":
        ask = {"message": "Send the email?", "arguments": trigger["input"]["value"]}
        return {"actions": [{"type": "interrupt", "reason": "confirm", "payload": ask}]}
    if trigger["type"] == "interrupt.resumed":
        if (trigger.get("payload") or {}).get("approved") is True:
            return {"actions": [{"type": "tool.result", "result": "sent"}]}
        return {"actions": [{"type": "tool.error", "error": "declined"}]}
    if trigger["type"] == "tool.finished":
        said = trigger.get("result") or trigger["error"]["message"]
        reply = {"role": "assistant", "content": f"Your email: {said}."}
        return {"messages": [reply], "actions": [{"type": "done"}]}
    return request["proposed"]


class Worker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mac = hmac.new(os.environ["WORKER_SECRET"].encode(), body, hashlib.sha256).hexdigest()
        signature = self.headers.get("X-Substructure-Signature", "")
        if not hmac.compare_digest(signature, f"sha256={mac}"):
            self.send_error(401)
            return
        answer = json.dumps(decide(json.loads(body))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Worker)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
