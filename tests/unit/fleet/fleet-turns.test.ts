import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import type { TurnRequest, TurnResult } from "../../../src/protocol/turn-files.ts";
import { createFleetTurns } from "../../../src/services/fleet/fleet-turns.ts";
import { createGatewayClient, type GatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { FleetLink } from "../../../src/services/fleet/links.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createSystem } from "../../../src/system/system.ts";
import { giveTurns } from "../../support/fake-turns.ts";
import { createFakeDirectory, liveLink, lostLink, noLink, sampleKnown } from "../../support/fleet-fakes.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { createScratch } from "../../support/scratch.ts";

const at_utc = "2026-11-21T04:47:00.000+00:00";

function setup(
  options: {
    link?: "live" | FleetLink;
    attach?: (client: GatewayClient) => GatewayClient;
    /** Why the gateway's request fails before its turn begins. */
    fails?: string;
    answersAreLost?: boolean;
  } = {},
) {
  const scratch = createScratch();
  const system = createSystem();
  const gateway = createGatewayBundle({ start: false });
  giveTurns(gateway.agent);
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, init) => {
      const reply = await gateway.app.fetch(new Request(url, init));
      if (init.method === "POST" && options.answersAreLost) throw new Error("the socket was closed");
      // What a gateway would do with the request: begin its turn.
      if (init.method === "GET" && url.includes("/v1/requests/") && options.fails !== undefined) {
        const record = (await reply.json()) as object;
        return Response.json({ ...record, state: "failed", error_detail: options.fails });
      }
      if (init.method === "POST" && reply.ok && options.fails === undefined) {
        const { payload } = JSON.parse(String(init.body)) as { payload: { turn_id: string } };
        begin(payload.turn_id, 7);
      }
      return reply;
    },
  });
  const known = sampleKnown("batch", { headless: true });
  if (known.found) known.found = { ...known.found, sessionRoot: scratch.folder };
  const attached: string[] = [];
  const directories = createTurnDirectories({ files: system.files, sessionRoot: scratch.folder });
  const turns = createFleetTurns({
    ...system,
    locks: createLocks(system),
    providerOf: headlessProvider,
    directory: createFakeDirectory([
      known,
      sampleKnown("worker"),
      sampleKnown("old", { headless: true, stopped: true }),
    ]),
    links: {
      to: async () => (options.link === "live" ? liveLink(client) : (options.link ?? noLink)),
      claims: () => true,
      doubt: () => {},
    },
    async attach({ manifest }) {
      attached.push(manifest.agent_name);
      return (options.attach ?? ((same) => same))(client);
    },
  });

  function begin(turnId: string, index: number) {
    const request: TurnRequest = {
      schema_version: 1,
      turn_id: turnId,
      turn_index: index,
      tracked_agent_id: "session-batch",
      request_id: null,
      requested_at_utc: at_utc,
      life: null,
      tool: "demo",
      executable: "/bin/demo",
      args: [],
      working_directory: "/",
      role_prompt: null,
      prompt: "hello",
      session: { mode: "new" },
      model: null,
      display_style: "plain",
      display_detail: "concise",
    };
    return directories.create(request);
  }

  return {
    turns,
    attached,
    gateway,
    begin,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      scratch[Symbol.dispose]();
    },
  };
}

const ended: TurnResult = {
  schema_version: 1,
  status: "completed",
  completed_at_utc: at_utc,
  returncode: 0,
  signal: null,
  completion_source: "terminal_event",
  session_id: null,
  history_summary: "said hello",
  error: null,
  usage: null,
};
/** This very process runs the turn, as far as anybody can see. */
const running = {
  runner_pid: process.pid,
  runner_start: null,
  child_pid: null,
  child_start: null,
  launched_at_utc: at_utc,
};

describe("a turn of a headless agent", () => {
  test("is begun by its gateway and reported with its number", async () => {
    await using at = setup({ link: "live" });
    const answer = await at.turns.submit("batch", { prompt: "hello" });
    expect(answer).toMatchObject({
      kind: "done",
      body: { success: true, tracked_agent_id: "session-batch", turn_index: 7, status: "active" },
    });
    const [queued] = at.gateway.queue.list({ limit: 2 });
    const turnId = answer.kind === "done" ? answer.body.turn_id : "";
    expect([queued?.turn_id, turnId]).toEqual([turnId, expect.stringMatching(/^turn-[0-9a-f]{12}$/)]);
    expect(at.attached).toEqual([]);
  });

  test("may have begun when the answer of its gateway is lost", async () => {
    await using at = setup({ link: "live", answersAreLost: true });
    await expect(at.turns.submit("batch", { prompt: "hello" }, "key-1")).rejects.toMatchObject({
      reason: "outcome_unknown",
      data: { remedy: { code: "find_outcome", key: "key-1", agent_name: "batch" } },
    });
    expect(at.gateway.queue.list({ limit: 2 })).toHaveLength(1);
  });

  test("has a gateway started where none serves the agent", async () => {
    await using at = setup();
    expect(await at.turns.submit("batch", { prompt: "hello" })).toMatchObject({ kind: "done" });
    expect(at.attached).toEqual(["batch"]);
  });

  test("says what can be done when no gateway could be started for it", async () => {
    const remedy = { code: "run_doctor" };
    await using at = setup({
      attach: () => {
        throw new ServiceError("conflict", "its lock is taken", { data: { remedy } });
      },
    });
    await expect(at.turns.submit("batch", { prompt: "hello" })).rejects.toMatchObject({
      reason: "unavailable",
      message: 'no gateway could be started for "batch": its lock is taken',
      data: { remedy },
    });
  });

  test("is refused while a silent gateway claims the agent, and for a stopped agent", async () => {
    await using at = setup({ link: lostLink("silent") });
    for (const ref of ["batch", "old"]) {
      await expect(at.turns.submit(ref, { prompt: "x" })).rejects.toMatchObject({ reason: "unavailable" });
    }
    expect(at.attached).toEqual([]);
  });

  test("is refused while another runs, and while requests wait", async () => {
    await using at = setup({ link: "live" });
    const other = at.begin("turn-9", 1);
    other.saveProcess(running);
    await expect(at.turns.submit("batch", { prompt: "x" })).rejects.toMatchObject({
      reason: "conflict",
      message: expect.stringContaining("turn-9"),
    });
    other.saveResult(ended);
    await at.gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "waits" } });
    await expect(at.turns.submit("batch", { prompt: "x" })).rejects.toMatchObject({ reason: "conflict" });
  });

  test("is begun once by two callers of the same moment: the other is refused", async () => {
    await using at = setup({ link: "live" });
    const answers = await Promise.allSettled(
      ["one", "two"].map((prompt) => at.turns.submit("batch", { prompt })),
    );
    expect(answers).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { reason: "conflict" } },
    ]);
    expect(at.gateway.queue.list({ limit: 5 })).toHaveLength(1);
  });

  test.each([
    { fails: "missing_current_chat_session: none is pinned", reason: "conflict" },
    { fails: "the tmux session is gone", reason: "unavailable" },
  ])("is no turn when its request fails before it begins ($reason: $fails)", async ({ fails, reason }) => {
    await using at = setup({ link: "live", fails });
    const submission = { prompt: "x", chat_session: { mode: "current" } } as const;
    await expect(at.turns.submit("batch", submission)).rejects.toMatchObject({ reason, message: fails });
  });

  test("is read from its directory; one whose runner has died gets its end first", async () => {
    await using at = setup();
    const turn = at.begin("turn-1", 1);
    mkdirSync(turn.paths.folder, { recursive: true });
    writeFileSync(turn.paths.stdout, "out\n");
    expect(await at.turns.read("batch", "turn-1")).toMatchObject({ status: "active", turn_index: 1 });
    turn.saveProcess({ ...running, runner_pid: 2 ** 22 + 1 });
    expect(await at.turns.read("batch", "turn-1")).toMatchObject({ status: "failed" });
    const part = { offset: 0, maxBytes: 100 };
    const bytes = [...(await at.turns.artifact("batch", "turn-1", "stdout", part)).pieces];
    expect(Buffer.concat(bytes).toString()).toBe("out\n");
    expect([...(await at.turns.artifact("batch", "turn-1", "stderr", part)).pieces]).toEqual([]);
    const { trackedId, events } = await at.turns.events("batch", "turn-1", 0);
    expect([trackedId, events.toArray()]).toEqual(["session-batch", []]);
  });

  test.each(["turn-none", "..", "a/b"])("an unknown one (%s) is not found", async (turnId) => {
    await using at = setup();
    await expect(at.turns.read("batch", turnId)).rejects.toMatchObject({ reason: "not_found" });
    await expect(
      at.turns.artifact("batch", turnId, "stdout", { offset: 0, maxBytes: 1 }),
    ).rejects.toMatchObject({ reason: "not_found" });
  });

  test("a terminal agent has none", async () => {
    await using at = setup();
    for (const act of [
      at.turns.submit("worker", { prompt: "x" }),
      at.turns.read("worker", "turn-1"),
      at.turns.interrupt("worker"),
    ]) {
      await expect(act).rejects.toMatchObject({ reason: "headless_only" });
    }
  });

  test.each([{ mode: "new", id: "x" }, { mode: "exact" }] as const)(
    "is not begun with the chat session %o, which nobody can mean",
    async (chat_session) => {
      await using at = setup();
      await expect(at.turns.submit("batch", { prompt: "x", chat_session })).rejects.toMatchObject({
        reason: "invalid_request",
        message: expect.stringContaining("invalid_chat_session"),
      });
    },
  );

  test("an interrupt without a turn changes nothing", async () => {
    await using at = setup();
    at.begin("turn-1", 1).saveResult(ended);
    expect(await at.turns.interrupt("batch")).toEqual({
      success: true,
      tracked_agent_id: "session-batch",
      detail: "no turn is running",
    });
  });
});
