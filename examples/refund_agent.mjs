// The agent of refund_agent.py over plain HTTP, in JavaScript without a package. Run it again: it asks nobody twice.
import { readFile } from "node:fs/promises";

const from = async (file) => (await readFile(`var/${file}`, "utf8")).trim();
const url = process.env.SAYSO_URL ?? (await from("url"));
const key = process.env.SAYSO_API_KEY ?? (await from("dev-api-key"));

// Every call here may be repeated, so what is away (a gateway that restarts, a limit) is waited for.
async function call(method, path, body, headers = {}) {
  for (;;) {
    const answer = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      body: body && JSON.stringify(body),
    }).catch(() => null);
    if (answer?.ok) return answer.json();
    const refusal = await answer?.json().catch(() => null);
    if (refusal?.error !== "idempotency_in_flight" && answer && ![429, 502, 503, 504].includes(answer.status))
      throw new Error(`${refusal?.error}: ${refusal?.message}`);
    const seconds = Number(answer?.headers.get("Retry-After")) || 1;
    await new Promise((again) => setTimeout(again, 1000 * seconds));
  }
}

const order = { order: "4711", amount: "4000.00", currency: "EUR" };
const question = {
  nodeId: "refund",
  payload: {
    kind: "approval",
    key: "refund-4711",
    timeoutMs: 4 * 3600 * 1000, // after that it counts as rejected
    data: {
      title: "Refund 4,000.00 € to Acme Ltd",
      artifactType: "order",
      artifactId: "4711",
      artifactData: order,
      actions: ["accept", "reject"],
    },
  },
};
const once = { "Idempotency-Key": "refund-4711-of-the-example" };
let found = await call("POST", "/host/sayso/interrupts", question, once);
const path = `/host/sayso/interrupts/${found.interruptId.replace("/", "~2F")}`;
do found = await call("GET", `${path}?wait=60`);
while (found.status === "open");

const { action, decidedBy, feedback } = found.resumeValue ?? { action: found.status };
if (action === "accept") console.log(`Refunding ${order.amount}, approved by ${decidedBy}.`);
else console.log(`Not refunding: ${action}. ${feedback ?? ""}`);
