import { describe, expect, test } from "bun:test";
import { giveTerminal } from "../support/fake-terminal.ts";
import { giveTurns } from "../support/fake-turns.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { inProcess, json } from "../support/http-surface.ts";

const meant = [
  ...["auto", "new", "current", "tool_last_or_new"].map((mode) => ({ mode, id: "conversation-1" })),
  { mode: "exact" },
  { mode: "exact", id: null },
];

/** Every route that accepts a chat session, with what it is asked. */
const routes: { path: string; body: (chat: object) => object; code: boolean }[] = [
  {
    path: "/v1/control/prompt",
    body: (chat) => ({ schema_version: 2, prompt: "hello", chat_session: chat }),
    code: true,
  },
  {
    path: "/v1/requests",
    body: (chat) => ({ kind: "submit_prompt", payload: { prompt: "hello", chat_session: chat } }),
    code: false,
  },
  {
    path: "/v1/control/tui/note-prompt",
    body: (chat) => ({ prompt: "hello", chat_session: chat }),
    code: false,
  },
];

describe.each(["terminal", "headless"])("an id is given exactly with mode exact, to a %s agent", (kind) => {
  test.each(routes.flatMap((route) => meant.map((chat) => ({ ...route, chat }))))(
    "$path refuses $chat",
    async ({ path, body, chat, code }) => {
      await using bundle = createGatewayBundle();
      if (kind === "terminal") giveTerminal(bundle.agent);
      else giveTurns(bundle.agent);
      await using http = inProcess((request) => bundle.app.fetch(request));
      const reply = await http.request(path, json(body(chat)));
      const { detail } = (await reply.json()) as { detail: { error_code?: string } | string };
      expect(reply.status).toBe(422);
      if (code) expect(detail).toMatchObject({ error_code: "invalid_chat_session", sent: false });
      else
        expect(detail).toStartWith(
          path === "/v1/requests" ? "payload.chat_session: invalid_" : "chat_session: invalid_",
        );
      expect([bundle.agent.prompts, bundle.queue.depth()]).toEqual([[], 0]);
    },
  );
});

test("a note takes the whole shape of a submission, queued or direct, and reads the prompt alone", async () => {
  await using bundle = createGatewayBundle();
  const terminal = giveTerminal(bundle.agent);
  await using http = inProcess((request) => bundle.app.fetch(request));
  const note = (body: object) => http.request("/v1/control/tui/note-prompt", json(body));
  const execution = { model: { name: "m", reasoning: { level: 1 } } };
  const chat_session = { mode: "exact", id: "conversation-1" };
  for (const more of [
    { turn_id: "turn-1", delivery: "immediate" },
    { admission_policy: "always" },
    { execution, chat_session },
    { turn_id: null, delivery: null, admission_policy: null, execution: null, chat_session: null },
  ]) {
    expect([more, (await note({ schema_version: 1, prompt: "typed by hand", ...more })).status]).toEqual([
      more,
      200,
    ]);
  }
  expect(terminal.noted).toEqual(Array(4).fill("typed by hand"));
  expect((await note({ prompt: "x", delivery: "later" })).status).toBe(422);
  expect((await note({ prompt: "x", surprise: null })).status).toBe(422);
});
