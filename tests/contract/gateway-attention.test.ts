import { expect, test } from "bun:test";
import type { AttentionList } from "../../src/protocol/attention.ts";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { giveTerminal } from "../support/fake-terminal.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json } from "../support/http-surface.ts";

/** What waits at the agent of one gateway, by its own routes. */

const options = [
  { index: 1, text: "Yes", selected: true },
  { index: 2, text: "No", selected: false },
];
const question = { kind: "selection_menu", question: "Go on?", id: "aaaaaaaaaaaa", options };
const at = (path: string) => `http://127.0.0.1${path}`;

test("an answer is pressed once; a stale one, another instance's and an unknown one press nothing", async () => {
  await using bundle = createGatewayBundle();
  const { state } = giveTerminal(bundle.agent);
  const pressed: unknown[] = [];
  bundle.agent.decide = async (answer) => {
    pressed.push(answer);
    delete state.awaiting_decision;
    return { index: 2, text: "No" };
  };
  const list = async () =>
    ((await (await bundle.app.fetch(new Request(at("/v1/attention")))).json()) as AttentionList).items;
  expect(await list()).toEqual([]);
  state.awaiting_decision = question;
  const [item] = await list();
  expect(item).toMatchObject({ kind: "question", question: "Go on?", agent_name: "worker" });
  const answer = (body: object) =>
    bundle.app.fetch(new Request(at(`/v1/attention/${item?.id}/answers`), json(body)));
  expect((await answer({ answer: "2", epoch: (item?.epoch ?? 0) + 1 })).status).toBe(409);
  expect((await answer({ answer: "Maybe" })).status).toBe(422);
  expect(pressed).toEqual([]);
  const done = await answer({ answer: "no", epoch: item?.epoch ?? 0 });
  expect([done.status, await done.json()]).toEqual([
    200,
    { status: "ok", id: item?.id ?? "", answer: { answer: "2", label: "No" } },
  ]);
  expect((await answer({ answer: "2" })).status).toBe(409);
  expect(pressed).toEqual([{ schema_version: 1, option: 2, id: "aaaaaaaaaaaa", question: "Go on?" }]);
});

test("the agent is described as the coordination server describes it", async () => {
  await using fleet = createCoordinatorBundle();
  const theirs = await fleet.app.fetch(new Request(at("/svc/agents/worker/state")));
  await using bundle = createGatewayBundle();
  giveTerminal(bundle.agent);
  const ours = await bundle.app.fetch(new Request(at("/v1/agent/state")));
  const [one, other] = [await theirs.json(), await ours.json()] as Record<string, object>[];
  expect(Object.keys(other ?? {}).sort()).toEqual(Object.keys(one ?? {}).sort());
  expect(other).toMatchObject({
    availability: "available",
    identity: { has_gateway: true, transport: "tui" },
  });
});
