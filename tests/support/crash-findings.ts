import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RequestRecord } from "../../src/protocol/gateway.ts";
import type { TurnResult } from "../../src/protocol/turn-files.ts";
import type { BuiltAgent } from "./built-agent.ts";
import type { CliFixture } from "./cli-fixture.ts";
import type { CoordServer } from "./coord-server.ts";
import type { Asked } from "./crash-load.ts";
import { fileProblems, leftoverProblems, requestProblems } from "./fault-story.ts";
import { until } from "./until.ts";

/**
 * What is wrong after a run of crashes, once everything serves again and the queues are empty: what was asked
 * for against what the files, the agents and the mailbox hold. Ends the gateways, cleanly. `crashes`: how
 * often the worker's gateway died.
 */
export async function crashFindings(run: {
  worker: BuiltAgent;
  batch: BuiltAgent;
  server: CoordServer | null;
  asked: Asked;
  crashes: number;
  fixture: CliFixture;
}): Promise<string[]> {
  const { worker, batch, asked, fixture } = run;
  const found: string[] = [];
  for (const agent of [worker, batch]) found.push(...(await drain(agent)));
  found.push(...(await mailFindings(worker, asked)), ...(await turnFindings(batch, asked)));
  found.push(...(await listFindings(run.server)));
  for (const agent of [worker, batch]) {
    const ended = await agent.stop();
    if (ended !== 0) found.push(`the gateway of ${agent.name} ended with ${ended} when told to stop`);
    found.push(
      ...fileProblems(agent.sessionRoot),
      ...leftoverProblems(agent.sessionRoot).filter((one) => isOld(one, agent.startedAtMs())),
    );
  }
  found.push(...requestProblems(worker, asked.requests, run.crashes));
  found.push(...(await providersAlive(fixture)));
  return found;
}

/**
 * A script that a launch left in the minute before the last gateway may have been wanted yet: the next clears
 * it away.
 */
function isOld(problem: string, startedAtMs: number): boolean {
  const script = /\S+\/launch-[0-9a-f]+\.sh$/.exec(problem)?.[0];
  return script === undefined || startedAtMs - statSync(script).mtimeMs > 60_000;
}

async function drain(agent: BuiltAgent): Promise<string[]> {
  const depth = async () => {
    const reply = await agent.client()?.call("status", {});
    return reply?.kind === "ok" ? reply.body : null;
  };
  const idle = async () => {
    const status = await depth();
    return status?.queue_depth === 0 && status.active_execution === "idle";
  };
  try {
    await until("the queue to be empty", idle, 180_000);
    return [];
  } catch {
    return [`the queue of ${agent.name} never drained: ${JSON.stringify(await depth())}`];
  }
}

/**
 * Every message that was answered is there once, one without an answer at most once, a refused one not at
 * all.
 */
async function mailFindings(worker: BuiltAgent, asked: Asked): Promise<string[]> {
  const there = async (box: string) => {
    const body = { schema_version: 1 as const, box };
    const reply = await worker.client()?.call("mailList", { body, timeoutMs: 30_000 });
    if (reply?.kind !== "ok") throw new Error(`the mail cannot be listed: ${JSON.stringify(reply)}`);
    return reply.body.messages;
  };
  const [inbox, archive] = [await there("inbox"), await there("archive")];
  const counts = new Map<string, number>();
  for (const { subject } of [...inbox, ...archive]) counts.set(subject, (counts.get(subject) ?? 0) + 1);
  const wrong = asked.mails.flatMap(({ subject, fate }) => {
    const count = counts.get(subject) ?? 0;
    counts.delete(subject);
    const allowed = fate === "answered" ? [1] : fate === "refused" ? [0] : [0, 1];
    return allowed.includes(count) ? [] : [`${subject} was ${fate} and is there ${count} times`];
  });
  const archived = new Set(archive.map((mail) => mail.message_ref));
  return [
    ...wrong,
    ...[...counts.keys()].map((subject) => `nobody sent ${JSON.stringify(subject)}`),
    ...asked.archived.filter((ref) => !archived.has(ref)).map((ref) => `${ref} was archived and is not`),
  ];
}

/** Every accepted turn has one final state that its request agrees with, and none ran twice. */
async function turnFindings(batch: BuiltAgent, asked: Asked): Promise<string[]> {
  const runs = batch.runs();
  const found: string[] = [];
  for (const { turnId, requestId } of asked.turns) {
    const times = runs.filter((run) => run.prompt.startsWith(`${turnId}\n`)).length;
    if (times > 1) found.push(`${turnId} ran ${times} times`);
    if (requestId === null) continue;
    const reply = await batch.client()?.call("readRequest", { params: { request_id: requestId } });
    const record: RequestRecord | null = reply?.kind === "ok" ? reply.body : null;
    const result = resultOf(batch, turnId);
    const said = `${turnId}: its request is ${record?.state ?? "lost"}, its result ${result?.status ?? "none"}, it ran ${times} times`;
    if (record?.state !== "completed" && record?.state !== "failed") found.push(said);
    else if (result && (result.status === "completed") !== (record.state === "completed")) found.push(said);
    else if (!result && (record.state === "completed" || times > 0)) found.push(said);
    else if (record.state === "completed" && times !== 1) found.push(said);
  }
  return found;
}

function resultOf(batch: BuiltAgent, turnId: string): TurnResult | null {
  const path = join(batch.sessionRoot, "manifest.turn-artifacts", turnId, "result.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as TurnResult) : null;
}

async function listFindings(server: CoordServer | null): Promise<string[]> {
  if (!server) return ["the coordination server does not run"];
  const { status, body } = await server.ask("/svc/agents");
  const agents = (body["agents"] ?? []) as { agent_name: string; has_gateway: boolean; liveness: string }[];
  const told = agents.map((one) => `${one.agent_name} ${one.liveness} ${one.has_gateway}`).sort();
  const right = status === 200 && told.join() === "batch alive true,worker alive true";
  const complaints = server.complaints();
  return [
    ...(right ? [] : [`the list is answered with ${status}: ${told.join(", ")}`]),
    ...(complaints === "" ? [] : [`the coordination server complains: ${complaints}`]),
  ];
}

/** Tools of turns that nobody waits for any more; told by their arguments. */
async function providersAlive(fixture: CliFixture): Promise<string[]> {
  const { stdout } = Bun.spawnSync(["ps", "-axww", "-o", "args"]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(fixture.folder) && line.includes("demo-agent --headless"))
    .map((line) => `left alive: ${line}`);
}
