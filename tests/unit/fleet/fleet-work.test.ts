import { describe, expect, test } from "bun:test";
import { answerStoreOn } from "../../../src/db/gateway/answer-store.ts";
import { openGatewayDatabase } from "../../../src/db/gateway/request-store.ts";
import type { TurnHandle } from "../../../src/protocol/coordinator.ts";
import { createFleetWork, type FleetWorkDeps } from "../../../src/services/fleet/fleet-work.ts";
import type { Answer } from "../../../src/services/fleet/gateway-client.ts";
import { createGatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { FleetLink } from "../../../src/services/fleet/links.ts";
import { createKeptAnswers } from "../../../src/services/sessions/kept-answers.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeAgent, notReady } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { createFakeDirectory, liveLink, lostLink, noLink, sampleKnown } from "../../support/fleet-fakes.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

const prompt = (text: string, more: object = {}) => ({
  request_kind: "submit_prompt" as const,
  prompt: text,
  ...more,
});
const interrupt = { request_kind: "interrupt" as const };
const begun: TurnHandle = {
  success: true,
  tracked_agent_id: "session-batch",
  turn_id: "turn-1",
  turn_index: 4,
  status: "active",
  detail: "begun",
};

/**
 * `worker` has the gateway of the bundle unless `link` says otherwise, `batch` is headless, `old` was
 * stopped.
 */
function setup(
  options: {
    link?: FleetLink;
    turn?: Answer<TurnHandle>;
    activeTurn?: string;
    answersAreLost?: boolean;
  } = {},
) {
  const gateway = createGatewayBundle({ start: false });
  const terminal = createFakeAgent();
  giveTerminal(terminal);
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    async fetch(url, init) {
      const answer = await gateway.app.fetch(new Request(url, init));
      if (options.answersAreLost) throw new Error("the socket was closed");
      return answer;
    },
  });
  const asked: unknown[] = [];
  const answers = createKeptAnswers({
    store: answerStoreOn(openGatewayDatabase({ path: ":memory:", clock: gateway.clock, steps: quietSteps })),
    clock: gateway.clock,
    log: () => {},
  });
  let ids = 0;
  const work = createFleetWork({
    directory: createFakeDirectory([
      sampleKnown("worker"),
      sampleKnown("batch", { headless: true }),
      sampleKnown("old", { stopped: true }),
    ]),
    links: {
      to: async ({ manifest }) =>
        manifest.agent_name === "worker" ? (options.link ?? liveLink(client)) : noLink,
      claims: () => true,
      doubt: () => {},
    },
    terminals: { drive: (_agent, act) => act(terminal) },
    turns: {
      async submit(ref, submission) {
        asked.push([ref, submission]);
        return options.turn ?? { kind: "done", body: begun };
      },
      async interrupt() {
        const detail = options.activeTurn ? "stopped" : "no turn is running";
        const turn = options.activeTurn ? { turn_id: options.activeTurn, turn_index: 9 } : {};
        return { success: true, tracked_agent_id: "session-batch", detail, ...turn };
      },
    },
    stopping: {} as FleetWorkDeps["stopping"],
    relaunching: {} as FleetWorkDeps["relaunching"],
    answersOf: () => answers,
    clock: gateway.clock,
    ids: { hex: (bytes) => String(ids++).padStart(bytes * 2, "0"), uuid: () => "u" },
  });
  return { work, gateway, terminal, asked, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

describe("a request for a terminal agent", () => {
  test("is accepted by its gateway, where it can be followed", async () => {
    await using at = setup();
    const answer = await at.work.submit("worker", prompt("hello"));
    const [queued] = at.gateway.queue.list({ limit: 5 });
    expect(answer).toEqual({
      kind: "done",
      body: {
        success: true,
        tracked_agent_id: "id-worker",
        request_id: "mreq-000000000000",
        request_kind: "submit_prompt",
        disposition: "accepted",
        detail: "accepted by its gateway, 1 in the queue",
        gateway_request_id: queued?.request_id ?? "",
      },
    });
    expect(at.terminal.prompts).toEqual([]);
  });

  test("keeps status and body of its gateway's refusal", async () => {
    await using at = setup();
    at.gateway.agent.setConnectivity({ connected: false, detail: "its program is gone", instanceId: null });
    const answer = await at.work.submit("worker", prompt("hello"));
    expect(answer).toEqual({
      kind: "refused",
      status: 503,
      body: { detail: expect.stringContaining("its program is gone") },
    });
  });

  test.each([
    {
      id: "a prompt",
      asked: prompt("hello"),
      key: "key-1",
      remedy: { code: "find_outcome", key: "key-1", agent_name: "worker" },
    },
    {
      id: "a prompt without a key",
      asked: prompt("hello"),
      key: undefined,
      remedy: { code: "show_state", agent_id: "id-worker" },
    },
    {
      id: "an interrupt",
      asked: { request_kind: "interrupt" as const },
      key: "key-2",
      remedy: { code: "find_outcome", key: "key-2", agent_name: "worker" },
    },
  ])("$id whose answer is lost may have been accepted", async ({ asked, key, remedy }) => {
    await using at = setup({ answersAreLost: true });
    await expect(at.work.submit("worker", asked, key)).rejects.toMatchObject({
      reason: "outcome_unknown",
      data: { remedy },
    });
    expect(at.gateway.queue.list({ limit: 5 })).toHaveLength(1);
  });

  test("names no model, whatever serves it", async () => {
    await using at = setup();
    const wish = prompt("hello", { execution: { model: { name: "x" } } });
    await expect(at.work.submit("worker", wish)).rejects.toMatchObject({ reason: "invalid_request" });
    expect(at.gateway.queue.list({ limit: 5 })).toEqual([]);
  });

  test("is typed directly where no gateway serves or claims it", async () => {
    await using at = setup({ link: noLink });
    const answer = await at.work.submit("worker", prompt("hello"));
    expect(answer).toMatchObject({ kind: "done", body: { disposition: "accepted" } });
    expect(at.terminal.prompts).toEqual(["hello"]);
  });

  test.each([
    { id: "a busy terminal", readiness: notReady, reason: "conflict" },
    {
      id: "a draft of a person",
      readiness: { ready: false as const, code: "pending_input" as const, detail: "a draft" },
      reason: "conflict",
    },
    {
      id: "a terminal without its program",
      readiness: { ready: false as const, code: "unavailable" as const, detail: "a shell" },
      reason: "unavailable",
    },
  ])("is refused by $id, with nothing typed", async ({ readiness, reason }) => {
    await using at = setup({ link: noLink });
    at.terminal.setReadiness(readiness);
    await expect(at.work.submit("worker", prompt("hello"))).rejects.toMatchObject({ reason });
    expect(at.terminal.prompts).toEqual([]);
  });

  test("waits for nobody while a silent gateway claims the agent", async () => {
    await using at = setup({ link: lostLink("silent") });
    for (const request of [prompt("hello"), interrupt]) {
      await expect(at.work.submit("worker", request)).rejects.toMatchObject({ reason: "unavailable" });
    }
    expect([at.terminal.prompts, at.terminal.interrupts]).toEqual([[], 0]);
  });

  test("is not made of one that was stopped", async () => {
    await using at = setup();
    await expect(at.work.submit("old", prompt("hello"))).rejects.toMatchObject({
      reason: "unavailable",
      message: '"old" is stopped',
    });
  });

  test("an interrupt without a gateway says what it came to", async () => {
    await using at = setup({ link: noLink });
    const outcome = async () => {
      const answer = await at.work.submit("worker", interrupt);
      return answer.kind === "done" ? [answer.body.success, answer.body.disposition] : null;
    };
    at.terminal.onInterrupt = () => ({ outcome: "no_op", detail: "idle" });
    expect(await outcome()).toEqual([true, "no_op"]);
    at.terminal.onInterrupt = () => ({ outcome: "interrupted", detail: "stopped" });
    expect(await outcome()).toEqual([true, "accepted"]);
    at.terminal.onInterrupt = () => ({ outcome: "failed", detail: "it goes on" });
    expect(await outcome()).toEqual([false, "accepted"]);
  });
});

describe("a request for a headless agent", () => {
  test("is a turn, reported with its id and number", async () => {
    await using at = setup();
    const execution = { model: { name: "x" } };
    expect(await at.work.submit("batch", prompt("hello", { execution }))).toMatchObject({
      kind: "done",
      body: { tracked_agent_id: "session-batch", headless_turn_id: "turn-1", headless_turn_index: 4 },
    });
    expect(at.asked).toEqual([["session-batch", { prompt: "hello", execution }]]);
  });

  test("keeps what the turn was refused with", async () => {
    const refused = { kind: "refused" as const, status: 409, body: { detail: "busy" } };
    await using at = setup({ turn: refused });
    expect(await at.work.submit("batch", prompt("hello"))).toEqual(refused);
  });

  test("an interrupt is no_op without a turn and names the one it ended", async () => {
    await using idle = setup();
    expect(await idle.work.submit("batch", interrupt)).toMatchObject({ body: { disposition: "no_op" } });
    await using busy = setup({ activeTurn: "turn-9" });
    expect(await busy.work.submit("batch", interrupt)).toMatchObject({
      body: { disposition: "accepted", headless_turn_id: "turn-9", headless_turn_index: 9 },
    });
  });
});

test("an unknown agent is not found", async () => {
  await using at = setup();
  await expect(at.work.submit("nobody", interrupt)).rejects.toBeInstanceOf(ServiceError);
});
