import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { toSpoolLine } from "../../src/services/extensions/bridges/signals/spool-line.ts";
import { signalPaths } from "../../src/services/extensions/bridges/signals/spool-source.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createDice } from "../simulation/dice.ts";
import { type BuiltAgent, launchBuilt } from "../support/built-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { createHostileReporter } from "../support/hostile-reporter.ts";
import { until } from "../support/until.ts";

const turns = 30;
/** The gateway is killed while these turns run. */
const killedIn = [8, 19];
/** From what the agent logs to the moment at which the test sees it. */
const noticedWithinMs = 50;

test("30 turns in tmux with reports late, doubled, lost and foreign, over two gateways killed: nothing lost, doubled or ended early", async () => {
  await using fixture = createCliFixture();
  const agent = await launchBuilt(fixture, "worker");
  const spool = reportingSpool(agent.sessionRoot);
  const reports = followAgent(agent, spool);
  await agent.serve();
  await until("the agent to be seen", async () => (await explain(agent)) !== null);

  const prompts = Array.from(
    { length: turns },
    (_, nth) => `step ${nth + 1}\nSLOW ${nth % 4 === 0 ? 600 : 30}`,
  );
  const ids: string[] = [];
  for (const prompt of prompts) {
    const reply = await agent
      .client()
      ?.call("submitRequest", { body: { kind: "submit_prompt", payload: { prompt } } });
    if (reply?.kind === "ok") ids.push(reply.body.request_id);
  }
  expect(ids).toHaveLength(turns);
  for (const turn of killedIn) {
    await until(`turn ${turn}`, () => reports.pump().begun >= turn);
    await agent.kill();
    // What the tool reports now is read by the next gateway.
    await until("the end of that turn", () => reports.pump().ended >= turn);
    await agent.serve();
  }
  const states = () => Promise.all(ids.map(async (id) => await recordOf(agent, id)));
  let looked = 0;
  await until("all requests to be over", async () => {
    const { ended } = reports.pump();
    if (ended < turns - killedIn.length || performance.now() < looked + 200) return false;
    looked = performance.now();
    return (await states()).every((one) => one !== null && isOver(one.state));
  });
  const records = await states();
  const unknown = records.filter((one) => one?.result_json?.["outcome"] === "unknown");
  expect(unknown.length).toBeLessThanOrEqual(killedIn.length);
  expect(records.filter((one) => one?.state === "completed")).toHaveLength(turns - unknown.length);

  const submitted = agent.log().flatMap((one) => (one.kind === "submitted" ? [one] : []));
  const lost = unknown.flatMap((one) => ids.indexOf(one?.request_id ?? "")).map((nth) => prompts[nth]);
  expect([...new Set(submitted.map((one) => one.text))]).toHaveLength(submitted.length);
  expect(submitted.map((one) => one.text)).toEqual(
    prompts.filter((one) => !lost.includes(one) || submitted.some(({ text }) => text === one)),
  );
  // The next prompt of one that was believed to be over too early is typed while the agent works.
  expect(submitted.filter((one) => one.while !== "idle" || one.merged_with_person_draft)).toEqual([]);

  const early = records.flatMap((one, nth) =>
    (one?.evidence ?? []).filter(
      ({ step, at_utc }) =>
        step === "turn_ended" &&
        Date.parse(at_utc) + noticedWithinMs < (reports.endOf(prompts[nth] ?? "") ?? 0),
    ),
  );
  expect(early).toEqual([]);
  const byTool = records.filter((one) =>
    one?.evidence?.some(({ proof }) => proof.startsWith("the tool reported")),
  );
  // Reports that nothing follows would prove nothing. How often one comes before the screen says it, the
  // machine's load decides.
  expect(byTool.length).toBeGreaterThan(0);
}, 120_000);

const isOver = (state: string) => state !== "accepted" && state !== "running";

async function recordOf(agent: BuiltAgent, id: string) {
  const reply = await agent.client()?.call("readRequest", { params: { request_id: id } });
  return reply?.kind === "ok" ? reply.body : null;
}

async function explain(agent: BuiltAgent) {
  const reply = await agent.client()?.call("explain", {});
  return reply?.kind === "ok" && reply.body.prompt_ready.holds ? reply.body : null;
}

/** Makes the session one whose tool reports, without a hook command: the test is the hook. */
function reportingSpool(sessionRoot: string): string {
  const { manifest: path } = sessionPaths(sessionRoot);
  const manifest = JSON.parse(readFileSync(path, "utf8")) as {
    launch_plan: { metadata: Record<string, unknown> };
  };
  manifest.launch_plan.metadata["signals"] = { given: true, declined: false, why: null };
  writeFileSync(path, JSON.stringify(manifest, null, 2));
  const { root, spool } = signalPaths(sessionRoot);
  mkdirSync(root, { mode: 0o700, recursive: true });
  writeFileSync(spool, "", { mode: 0o600 });
  return spool;
}

/**
 * Reports of the agent's turns what a tool under load reports; `pump` takes in what it logged and writes what
 * is due.
 */
function followAgent(agent: BuiltAgent, spool: string) {
  let due: { report: ToolReport; atMs: number }[] = [];
  let read = 0;
  let running = "";
  let startedMs = Number.POSITIVE_INFINITY;
  const counts = { begun: 0, ended: 0 };
  const ends = new Map<string, number>();
  const reporter = createHostileReporter({
    nowMs: Date.now,
    dice: createDice(11),
    shape: { begins: true, ids: true, endsNameText: false },
    deliver: (report, delayMs) => void due.push({ report, atMs: performance.now() + delayMs }),
  });
  return {
    pump() {
      const log = agent.log();
      for (const record of log.slice(read)) {
        startedMs = Math.min(startedMs, Date.now() - record.at_ms);
        if (record.kind === "submitted" && !record.command) {
          counts.begun += 1;
          running = record.text;
          reporter.submitted(record.text);
        } else if (record.kind === "turn_ended") {
          counts.ended += 1;
          ends.set(running, record.at_ms);
          reporter.ended(running, "turn_ended");
        }
      }
      read = log.length;
      const now = performance.now();
      for (const { report } of due.filter(({ atMs }) => atMs <= now))
        appendFileSync(spool, toSpoolLine(report));
      due = due.filter(({ atMs }) => atMs > now);
      return counts;
    },
    /** When the turn of that prompt ended, as the clock on the wall; null when it did not. */
    endOf: (prompt: string) => {
      const atMs = ends.get(prompt);
      return atMs === undefined ? null : startedMs + atMs;
    },
  };
}
