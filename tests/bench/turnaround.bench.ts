import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { signalPaths } from "../../src/services/extensions/bridges/signals/spool-source.ts";
import { cacheRoot, type InstalledCli, installCli, type LabTool } from "../live/lab/cli-cache.ts";
import { expectedArrival } from "../live/lab/expected-arrival.ts";
import { type LabGateway, startLabGateway } from "../live/lab/lab-gateway.ts";
import { createSandbox, type Sandbox } from "../live/lab/sandbox.ts";
import type { ReceivedRequest } from "../support/model-server/records.ts";
import type { Speech } from "../support/model-server/scenario.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { until } from "../support/until.ts";
import { type Bench, durationRows, percentile, type Row } from "./bench.ts";
import { effort } from "./effort.ts";

const compiled = join(import.meta.dir, "..", "..", "dist", "svc-gateway");
const prompts = effort(20, 4);
/** Pasted by hand to measure the tool alone. */
const typedPrompts = effort(12, 3);
const turnMs = 120_000;
/** An answered turn takes some 700 ms; a prompt without one by then has lost its Enter. */
const swallowedMs = 3000;
const tools: readonly LabTool[] = ["claude", "codex"];

/**
 * How long the model of a real agent CLI has nothing to do while prompts are queued: from the last byte of
 * its answer to one turn to the first byte of the request with the next prompt. With the tool's own reports
 * and without; beside them the tool's share: the next prompt is pasted into its pane with Enter the moment
 * the model has finished.
 */
const bench: Bench = {
  name: "turnaround",
  async run() {
    const rows: Row[] = [];
    for (const tool of tools) {
      const cli = await installCli(cacheRoot(process.env), tool, console.error);
      rows.push(...(await measureTool(cli)));
    }
    return rows;
  },
};

export default bench;

async function measureTool(cli: InstalledCli): Promise<Row[]> {
  const screen = await withAgent(cli, ["--no-signals"], async (agent) => {
    const pauses = await queuedPauses(agent);
    return { pauses, typed: await typedPauses(agent) };
  });
  const reported = await withAgent(cli, [], queuedPauses);
  console.error(`turnaround: ${cli.tool} ${cli.version}`);
  const name = cli.tool;
  return [
    ...durationRows(`${name}_reported`, reported.total, screen.typed),
    ...durationRows(`${name}_screen`, screen.pauses.total, screen.typed),
    {
      metric: `${name}_reported_to_screen`,
      value: percentile(reported.total, 0.5) / percentile(screen.pauses.total, 0.5),
      unit: "x",
    },
    ...partRows(`${name}_reported`, reported),
    ...partRows(`${name}_screen`, screen.pauses),
  ];
}

interface Agent {
  tool: LabTool;
  model: ModelServer;
  gateway: LabGateway;
  box: Sandbox;
}

async function withAgent<T>(
  cli: InstalledCli,
  flags: readonly string[],
  use: (agent: Agent) => Promise<T>,
): Promise<T> {
  const model = startModelServer({ part: () => answer });
  const box = createSandbox(cli, model.url, { trusted: true, unattended: false });
  try {
    const command = existsSync(compiled) ? [compiled] : undefined;
    const gateway = await startLabGateway(cli, box, { command, flags });
    try {
      return await use({ tool: cli.tool, model, gateway, box });
    } catch (error) {
      throw new Error(`${error}\n${gateway.screen()}\n${gateway.complaints()}`);
    } finally {
      await gateway.stop();
      box.tmux("kill-server");
    }
  } finally {
    await box[Symbol.asyncDispose]();
    await model.stop();
  }
}

/** A dozen words over half a second. */
const answer: Speech = {
  kind: "speech",
  words: Array.from({ length: 12 }, (_, index) => ({ afterMs: 40, text: `word${index} ` })),
  cutAfterWords: null,
  command: null,
  skill: null,
};

/** Milliseconds of each pause between two queued prompts, in all and by what was waited for. */
interface Pauses {
  total: number[];
  /** Until the tool's hook ran; none without reports. */
  toReport: number[];
  toEnd: number[];
  toBegin: number[];
  toTyped: number[];
  toRequest: number[];
  /** Prompts whose first Enter the tool swallowed. */
  swallowed: number;
}

async function queuedPauses({ tool, model, gateway }: Agent): Promise<Pauses> {
  const ids: string[] = [];
  for (let index = 1; index <= prompts; index++) {
    const { status, body } = await gateway.submit({
      schema_version: 1,
      kind: "submit_prompt",
      payload: { prompt: promptOf("Step", index) },
    });
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
    ids.push(body.request_id);
  }
  const turns: ReceivedRequest[] = [];
  for (let index = 1; index <= prompts; index++) {
    turns.push(await finishedTurn({ tool, model }, promptOf("Step", index)));
  }
  const ends = reportedEnds(gateway);
  const pauses: Pauses = {
    total: [],
    toReport: [],
    toEnd: [],
    toBegin: [],
    toTyped: [],
    toRequest: [],
    swallowed: 0,
  };
  for (let index = 1; index < prompts; index++) {
    const [before, after] = [turns[index - 1], turns[index]];
    const [former, latter] = await Promise.all(
      [index - 1, index].map((at) => gateway.request(ids[at] ?? "")),
    );
    if (!before || !after || !former || !latter || before.ended_at_ms === null) continue;
    const atMs = (step: string, of: typeof former) =>
      Date.parse(of.evidence.find((one) => one.step === step)?.at_utc ?? "");
    const begunMs = Date.parse(latter.started_at_utc ?? "");
    const submitted = latter.evidence.find((one) => one.step === "submitted")?.proof ?? "";
    if (!/after Enter 1\b/.test(submitted)) pauses.swallowed += 1;
    const endedMs = before.ended_at_ms;
    const reportedMs = ends.find((atMs) => atMs >= endedMs);
    if (reportedMs !== undefined && reportedMs < after.at_ms) pauses.toReport.push(reportedMs - endedMs);
    pauses.total.push(after.at_ms - endedMs);
    pauses.toEnd.push(atMs("turn_ended", former) - endedMs);
    pauses.toBegin.push(begunMs - atMs("turn_ended", former));
    pauses.toTyped.push(atMs("typed", latter) - begunMs);
    pauses.toRequest.push(after.at_ms - atMs("typed", latter));
  }
  return pauses;
}

/**
 * The tool alone: no gateway has a part in it, and nothing is waited for. A tool at its limit swallows an
 * Enter now and then; that turn is no sample.
 */
async function typedPauses({ tool, model, gateway, box }: Agent): Promise<number[]> {
  await until("the agent is ready", async () => {
    const status = await gateway.status();
    return status.terminal_surface_eligibility === "ready" && status.queue_depth === 0;
  });
  const target = `=${gateway.ready.tmux_session_name}:0`;
  const pauses: number[] = [];
  let endedMs: number | null = null;
  for (let index = 1; index <= typedPrompts; index++) {
    box.tmux(
      "set-buffer",
      "-b",
      "bench",
      "--",
      promptOf("Typed", index),
      ";",
      "paste-buffer",
      "-d",
      "-p",
      "-b",
      "bench",
      "-t",
      target,
      ";",
      "send-keys",
      "-t",
      target,
      "Enter",
    );
    const swallowed = setTimeout(() => box.tmux("send-keys", "-t", target, "Enter"), swallowedMs);
    const turn = await finishedTurn({ tool, model }, promptOf("Typed", index));
    clearTimeout(swallowed);
    const pauseMs = endedMs === null ? null : turn.at_ms - endedMs;
    if (pauseMs !== null && pauseMs < swallowedMs) pauses.push(pauseMs);
    endedMs = turn.ended_at_ms;
  }
  return pauses;
}

const promptOf = (word: string, index: number) => `${word} ${index}: say a few words.`;

/**
 * The turn of `prompt`. Throws when the model cannot read exactly this prompt back out of it: two as one, or
 * a part.
 */
async function finishedTurn(
  { tool, model }: Pick<Agent, "tool" | "model">,
  prompt: string,
): Promise<ReceivedRequest> {
  const turn = await model.next(
    ({ purpose, outcome, newest_user_text: text }) =>
      purpose === "turn" && outcome === "finished" && text.includes(prompt),
    turnMs,
  );
  const { newest_user_text: text } = turn;
  if (text === expectedArrival(tool, prompt)) return turn;
  throw new Error(`the model received ${JSON.stringify(text)} for ${JSON.stringify(prompt)}`);
}

/** When the tool reported ends of turns, oldest first. */
function reportedEnds({ ready }: LabGateway): number[] {
  const { spool } = signalPaths(ready.session_root);
  if (!existsSync(spool)) return [];
  const lines = readFileSync(spool, "utf8").split("\n");
  const reports = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as ToolReport);
  return reports.filter(({ kind }) => kind === "turn_ended").map((report) => report.at_ms);
}

/** The parts of a pause, so that a run says where its time went. */
function partRows(name: string, pauses: Pauses): Row[] {
  const { toReport, toEnd, toBegin, toTyped, toRequest, swallowed } = pauses;
  const parts = { to_turn_ended: toEnd, to_begin: toBegin, to_typed: toTyped, to_request: toRequest };
  const reported = toReport.length === 0 ? {} : { to_report: toReport };
  return [
    ...Object.entries({ ...reported, ...parts }).map(([part, samples]) => ({
      metric: `${name}_${part}_p50_ms`,
      value: percentile(samples, 0.5),
      unit: "ms",
    })),
    { metric: `${name}_swallowed_enters`, value: swallowed, unit: "" },
  ];
}
