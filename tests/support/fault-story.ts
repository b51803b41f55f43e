import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CurrentInstance, Manifest } from "../../src/protocol/files.ts";
import { type GatewayRequest, GatewayStatus } from "../../src/protocol/gateway.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import type { FaultAgent } from "./fault-fixture.ts";
import { submitToGateway } from "./load.ts";
import { until } from "./until.ts";

/** One request as its caller saw it: `requestId` is null when no 202 came. */
export interface Sent {
  kind: GatewayRequest["kind"];
  prompt: string | null;
  requestId: string | null;
}

interface Row {
  request_id: string;
  request_kind: string;
  state: string;
  payload_json: string;
  result_json: string | null;
  error_detail: string | null;
  evidence_json: string;
}

export async function send(client: GatewayClient, request: GatewayRequest): Promise<Sent> {
  const response = await submitToGateway(client, request);
  return {
    kind: request.kind,
    prompt: request.kind === "submit_prompt" ? request.payload.prompt : null,
    requestId: (response?.kind === "ok" && response.requestId) || null,
  };
}

const submit = (prompt: string): GatewayRequest => ({ kind: "submit_prompt", payload: { prompt } });

/**
 * Resolves with null when the queue is empty or the gateway is dead, else with what the queue waits for.
 * `meanwhile` runs between two looks.
 */
export async function drained(
  client: GatewayClient,
  agent: FaultAgent,
  meanwhile: () => Promise<void> = async () => {},
  withinMs = 60_000,
): Promise<string | null> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    await meanwhile();
    const reply = await client.call("status", {});
    if (reply.kind === "unreachable") return null;
    if (reply.kind === "ok" && reply.body.queue_depth === 0) return null;
    if (performance.now() > deadline) {
      return `never drained: ${JSON.stringify(reply.body)}\n${await agent.screen()}`;
    }
    await Bun.sleep(20);
  }
}

/**
 * A turn that runs for ever, an ordinary prompt behind it, two context actions that become one, another
 * prompt, and an interrupt that overtakes them all. Goes as far as the gateway lives; `sent` is added to.
 * Returns problems.
 */
export async function tellStory(
  client: GatewayClient,
  agent: FaultAgent,
  sent: Sent[],
  alive: () => boolean,
): Promise<string[]> {
  sent.push(await send(client, submit("endless\nSLOW 600000")));
  const long = `${"a line of a long prompt\n".repeat(9)}FAST`;
  const rest = ["second\nFAST", "/compact", "/clear", long];
  sent.push(...(await Promise.all(rest.map((prompt) => send(client, submit(prompt))))));
  await until(
    "the endless turn",
    () => !alive() || agent.log().some((record) => record.kind === "turn_started"),
  );
  sent.push(await send(client, { kind: "interrupt" }));
  const blocked = alive() ? await drained(client, agent) : null;
  return blocked === null ? [] : [blocked];
}

/** The stored requests, oldest first; the gateway must not run. */
function storedRequests(sessionRoot: string): Row[] {
  const path = sessionPaths(sessionRoot).queue;
  if (!existsSync(path)) return [];
  const database = new Database(path, { readonly: true });
  try {
    return database.query<Row, []>("SELECT * FROM gateway_requests ORDER BY seq").all();
  } finally {
    database.close();
  }
}

/**
 * What is wrong with the requests of a session whose queue has been drained after at most `crashes` crashes:
 * `sent` against queue.sqlite and against what the agent says it was given. Empty when nothing is.
 */
export function requestProblems(
  agent: Pick<FaultAgent, "sessionRoot" | "log">,
  sent: readonly Sent[],
  crashes = 1,
): string[] {
  const rows = storedRequests(agent.sessionRoot).map(toFacts);
  const submitted = agent.log().flatMap((record) => (record.kind === "submitted" ? [record.text] : []));
  const stored = new Set(rows.map((row) => row.requestId));
  const lost = sent.filter(({ requestId }) => requestId !== null && !stored.has(requestId));
  const unknown = rows.filter((row) => row.unknown);
  return [
    ...lost.map(
      (one) => `lost: ${one.kind} ${JSON.stringify(one.prompt)} was answered 202 and is not stored`,
    ),
    ...rows
      .filter((row) => row.state === "accepted" || row.state === "running")
      .map((row) => `stuck: ${row.name} is ${row.state}`),
    ...rows
      .filter((row) => row.state === "failed" && !row.unknown)
      .map((row) => `failed without being unknown: ${row.name}: ${row.why}`),
    ...(unknown.length > crashes ? [`${unknown.length} unknown outcomes after ${crashes} crashes`] : []),
    ...executionProblems(rows, sent, submitted),
  ];
}

/** Every completed prompt was submitted, every unknown one at most once, and nothing else ever. */
function executionProblems(rows: RowFacts[], sent: readonly Sent[], submitted: readonly string[]): string[] {
  const prompts = new Set([...submitted, ...rows.flatMap((row) => row.prompt ?? [])]);
  const offered = new Set(sent.map((one) => one.prompt));
  return [...prompts].flatMap((prompt) => {
    const name = JSON.stringify(prompt);
    if (!offered.has(prompt)) return [`merged: nobody sent ${name}`];
    const mine = rows.filter((row) => row.prompt === prompt);
    const completed = mine.filter((row) => row.state === "completed").length;
    const most = completed + mine.filter((row) => row.unknown).length;
    const times = submitted.filter((text) => text === prompt).length;
    if (times < completed) return [`not executed: ${name} is completed and was submitted ${times} times`];
    return times > most ? [`repeated: ${name} may be submitted ${most} times and was ${times} times`] : [];
  });
}

type RowFacts = ReturnType<typeof toFacts>;

function toFacts(row: Row) {
  const { prompt } = JSON.parse(row.payload_json) as { prompt?: string };
  const result = JSON.parse(row.result_json ?? "{}") as { outcome?: string; seen?: unknown };
  return {
    requestId: row.request_id,
    prompt,
    name: `${row.request_kind} ${JSON.stringify(prompt ?? null)}`,
    state: row.state,
    why: `${row.error_detail} ${row.result_json}`,
    unknown: row.state === "failed" && result.outcome === "unknown" && Array.isArray(result.seen),
  };
}

/** Files of a gateway that are there and not whole. */
export function fileProblems(sessionRoot: string): string[] {
  const paths = sessionPaths(sessionRoot);
  const records: [string, TSchema][] = [
    [paths.manifest, Manifest],
    [paths.state, GatewayStatus],
    [paths.currentInstance, CurrentInstance],
  ];
  const problems = records.flatMap(([path, schema]) => {
    if (!existsSync(path)) return [];
    try {
      return Value.Check(schema, JSON.parse(readFileSync(path, "utf8"))) ? [] : [`not valid: ${path}`];
    } catch (error) {
      return [`not whole: ${path}: ${String(error)}`];
    }
  });
  return [...problems, ...brokenEvents(paths.events)];
}

function brokenEvents(path: string): string[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  const last = lines.pop();
  if (last !== "") return [`torn event: ${last}`];
  return lines.flatMap((line) => {
    try {
      JSON.parse(line);
      return [];
    } catch {
      return [`torn event: ${line}`];
    }
  });
}

/** Names of files below a folder that only a write under way may have. */
export function temporaries(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /(^|\/)\.[^/]*\.tmp$|launch-[0-9a-f]+\.sh$/.test(path))
    .map((path) => join(folder, path));
}

/** What a gateway that ended cleanly leaves although it must not. */
export function leftoverProblems(sessionRoot: string): string[] {
  const paths = sessionPaths(sessionRoot);
  const live = [paths.currentInstance, paths.pidFile, paths.token].filter((path) => existsSync(path));
  return [...live, ...temporaries(sessionRoot)].map((path) => `left behind: ${path}`);
}
