// The published AG-UI client against a gateway: node agui_client.mjs FOLDER URL TOKEN, where FOLDER has
// node_modules with @ag-ui/client. Prints what the client made of each step, one JSON text a line.

import { createRequire } from "node:module";

const [folder, url, token] = process.argv.slice(2);
const { HttpAgent } = createRequire(`${folder}/package.json`)("@ag-ui/client");

const agent = (threadId) =>
  new HttpAgent({ url, threadId, headers: { Authorization: `Bearer ${token}` } });

async function run(one, parameters = {}) {
  let error = null;
  try {
    await one.runAgent(parameters, { onRunErrorEvent: ({ event }) => (error = event.message) });
  } catch (thrown) {
    error = `thrown: ${thrown.message}`;
  }
  const said = one.messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
  console.log(JSON.stringify({ pending: one.pendingInterrupts ?? [], error, said }));
}

const answer = (one, status, payload) => ({
  resume: (one.pendingInterrupts ?? []).map((i) => ({ interruptId: i.id, status, payload })),
});

for (const [thread, status, payload] of [
  ["yes", "resolved", { approved: true }],
  ["no", "cancelled", undefined],
]) {
  const one = agent(thread);
  one.messages = [{ id: `m-${thread}`, role: "user", content: `${thread}@example.com` }];
  await run(one);
  const cold = agent(thread);
  cold.messages = [...one.messages];
  await run(cold);
  await run(one, answer(one, status, payload));
}
