import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseDemoLog } from "../../src/services/demo/log.ts";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { createClock } from "../../src/system/clock.ts";
import { followEvents } from "../support/gateway-events.ts";
import { createHostileFixture } from "../support/hostile/fixture.ts";
import { hostileProblems, hostilePrompts, hostileScript, hostilityOf } from "../support/hostile-run.ts";

const seed = Number(process.env["SVC_HOSTILE_SEED"] ?? 1);
const count = Number(process.env["SVC_HOSTILE_PROMPTS"] ?? 200);
/** The last ones are given one by one, each when the turn before it has ended. */
const oneByOne = Math.floor(count / 8);
/** A bound for a machine that is busy with other things. */
const msEach = 3000;

/**
 * A screen or a success counts here when it has held for 0.05 s instead of 1 s: nearly all of the time of 200 short
 * turns would be spent on waiting for that. A longer wait could only hide a hasty verdict.
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

test(
  `a hostile agent of seed ${seed} is given ${count} prompts in a row, none lost, doubled or merged`,
  async () => {
    console.log(`SVC_HOSTILE_SEED=${seed} SVC_HOSTILE_PROMPTS=${count}`);
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
      events.until(
        ({ kind, request_id, step }) =>
          request_id === requestId && (kind === "failed" || step === "turn_ended"),
        count * msEach,
      );

    const prompts = hostilePrompts(seed, count);
    const requestIds: string[] = [];
    for (const prompt of prompts.slice(0, -oneByOne)) requestIds.push(await submit(client, prompt));
    await turnEnd(requestIds.at(-1) ?? "");
    for (const prompt of prompts.slice(-oneByOne)) {
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
    // A short run proves no kind of misbehaviour.
    const least = count < 200 ? 0 : 30;
    for (const [kind, times] of Object.entries(hostility)) {
      expect(times, `occurrences of ${kind}`).toBeGreaterThanOrEqual(least);
    }
  },
  60_000 + count * msEach,
);
