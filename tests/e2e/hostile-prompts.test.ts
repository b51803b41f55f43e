import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { createClock } from "../../src/system/clock.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { followEvents } from "../support/gateway-events.ts";
import { createHostileFixture } from "../support/hostile/fixture.ts";
import { hostileProblems, hostilePrompts, hostileScript, hostilityOf } from "../support/hostile-run.ts";
import { isWholeMatrix, matrixChoice, matrixTests } from "../support/matrix.ts";

interface Row {
  seed: number;
  /** Prompts in a row. The last eighth is given one by one, each when the turn before it has ended. */
  count: number;
}

const toId = ({ seed, count }: Row) => `seed ${seed}, ${count} prompts`;

/** Any row can be asked for by its id: `seed 7, 1000 prompts`. */
function rows(): Row[] {
  const [, seed, count] = /^seed (\d+), (\d+) prompts$/.exec(matrixChoice.case ?? "") ?? [];
  if (seed !== undefined) return [{ seed: Number(seed), count: Number(count) }];
  const { sample } = matrixChoice;
  if (sample !== null) return [{ seed: Number(Bun.hash.crc32(sample.seed) % 1000), count: sample.count }];
  return [1, 2, 3, 4].map((nth) => ({ seed: nth, count: 50 }));
}

/** How often each agent misbehaved, by kind. */
const seen: ReturnType<typeof hostilityOf>[] = [];

/** A bound for a machine that is busy with other things. */
const msEach = 3000;

/**
 * A screen or a success counts here when it has held for 0.05 s instead of 1 s: nearly all of the time of 200
 * short turns would be spent on waiting for that. A longer wait could only hide a hasty verdict.
 */
const timings = [
  ["--gateway-tui-stability-threshold-seconds", "0.05"],
  ["--gateway-tui-completion-stability-seconds", "0.05"],
].flat();

const ladder = ["accepted", "typed", "submitted", "turn_started", "turn_ended"];

async function submit(client: GatewayClient, prompt: string): Promise<string> {
  const reply = await client.call("submitRequest", { body: { kind: "submit_prompt", payload: { prompt } } });
  if (reply.kind !== "ok") throw new Error(reply.detail);
  return reply.body.request_id;
}

/** Why the record is not that of a prompt whose taking and whose whole turn were proved; null when it is. */
async function unproved(client: GatewayClient, requestId: string): Promise<string | null> {
  const reply = await client.call("readRequest", { params: { request_id: requestId } });
  if (reply.kind !== "ok") return `${requestId}: ${reply.detail}`;
  const { state, error_detail, evidence } = reply.body;
  // A prompt that a menu handed back is submitted once more.
  const steps = evidence.map(({ step }) => step).filter((step, at, all) => step !== all[at - 1]);
  const proved = state === "completed" && Bun.deepEquals(steps, ladder);
  return proved ? null : `${requestId}: ${state} (${error_detail}): ${JSON.stringify(evidence)}`;
}

const chosen = await matrixTests<Row>({
  name: "a hostile agent is given prompts in a row, none lost, doubled or merged",
  cases: rows,
  toId,
  lanes: 2,
  timeoutMs: 60_000 + Math.max(...rows().map(({ count }) => count)) * msEach,
  async run({ seed, count }) {
    const oneByOne = Math.floor(count / 8);
    const startedMs = performance.now();
    await using fixture = await createHostileFixture();
    const logPath = join(fixture.folder, "agent.jsonl");
    const script = join(fixture.folder, "script.json");
    writeFileSync(script, JSON.stringify(hostileScript(seed)));
    const single = ["agents", "single", "--agent-name", "worker"];
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--no-gateway", "--"];
    const launched = await fixture.mgr(...launch, "--log", logPath, "--speed", "4", "--script", script);
    expect(launched.stderr).toBe("");
    const attached = await fixture.mgr(...single, "gateway", "attach", ...timings, "--json");
    const { gateway_host, gateway_port } = attached.json();
    const baseUrl = `http://${gateway_host}:${gateway_port}`;
    const client = createGatewayClient({
      clock: createClock(),
      baseUrl,
      token: null,
      respectProxyEnvironment: false,
    });
    await using events = await followEvents(baseUrl);
    const turnEnd = (requestId: string) =>
      events.first(
        `the end of ${requestId}`,
        ({ kind, request_id, step }) =>
          request_id === requestId && (kind === "failed" || step === "turn_ended"),
        count * msEach,
      );

    const prompts = hostilePrompts(seed, count);
    const requestIds: string[] = [];
    for (const prompt of prompts.slice(0, count - oneByOne)) requestIds.push(await submit(client, prompt));
    await turnEnd(requestIds.at(-1) ?? "");
    for (const prompt of prompts.slice(count - oneByOne)) {
      const requestId = await submit(client, prompt);
      requestIds.push(requestId);
      await turnEnd(requestId);
    }

    const log = parseDemoLog(readFileSync(logPath, "utf8"));
    const hostility = hostilityOf(log);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(`${count} prompts in ${seconds} s: ${JSON.stringify(hostility)}`);
    expect(hostileProblems(log, prompts)).toEqual([]);
    const records = await Promise.all(requestIds.map((requestId) => unproved(client, requestId)));
    expect(records.filter((record) => record !== null)).toEqual([]);
    seen.push(hostility);
  },
});

if (isWholeMatrix && chosen.length > 0) {
  test("each kind of misbehaviour occurred often enough", () => {
    const kinds = Object.keys(seen[0] ?? {}) as (keyof (typeof seen)[number])[];
    for (const kind of kinds) {
      const times = seen.reduce((sum, one) => sum + one[kind], 0);
      expect(times, `occurrences of ${kind}`).toBeGreaterThanOrEqual(30);
    }
    expect(kinds.length).toBeGreaterThanOrEqual(5);
  });
}
