import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CliRun } from "./cli-lab.ts";
import type { SickAgent } from "./sick-agent.ts";

/** What may become of a file. */
export const damages = {
  deleted: (path: string) => rmSync(path),
  emptied: (path: string) => truncateSync(path, 0),
  cut: (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  garbage: (path: string) => writeFileSync(path, new Uint8Array(9000).fill(0xa5)),
  "not JSON": (path: string) => writeFileSync(path, '{"schema_version": 1,\n'),
  "a folder": (path: string) => {
    rmSync(path);
    mkdirSync(join(path, "inside"), { recursive: true });
  },
} as const;
export type Damage = keyof typeof damages;

/** What a person and a program are told while a file is damaged. */
export interface Told {
  /** `health/connectivity/admission`, with the reason where there is one; `exit N` where the command failed. */
  status: string;
  /** Of an interrupt that is asked for: its HTTP status, `unnamed` where it does not name the file; `none` where nobody listens. */
  request: string;
  /** `listed`, `problem` or `ignored`. */
  list: string;
  /** What `doctor` calls the agent or its record, and its exit code. */
  doctor: string;
}

/** A copy of a file, or of a database with what SQLite keeps beside it. */
export function copyOf(path: string): { restore(): void } {
  const parts = ["", "-wal", "-shm"].map((end) => {
    const at = `${path}${end}`;
    return { at, bytes: existsSync(at) && statSync(at).isFile() ? readFileSync(at) : null };
  });
  return {
    restore() {
      for (const { at, bytes } of parts) {
        rmSync(at, { recursive: true, force: true });
        if (bytes === null) continue;
        writeFileSync(at, bytes, { mode: 0o600 });
        chmodSync(at, 0o600);
      }
    },
  };
}

export const alive = (agent: SickAgent) => agent.lab.alive(agent.gatewayPid());

/** The status alone, by whoever can tell it. */
export async function toldStatus(agent: SickAgent): Promise<string> {
  return statusOf(agent, await agent.mgr("gateway", "status", "--json"));
}

/** All that is told; a request is asked for last, since what it changes is written down. */
export async function ask(agent: SickAgent): Promise<Told> {
  const status = await toldStatus(agent);
  const list = await agent.lab.mgr("agents", "list", "--json");
  const doctor = await agent.lab.mgr("doctor", "--json");
  return {
    status,
    request: await askedFor(agent),
    list: toList(list.json()),
    doctor: `${toVerdict(doctor.json())} ${doctor.exitCode}`,
  };
}

/** By the command, or by the gateway itself where the command cannot tell which agent is meant. */
async function statusOf(agent: SickAgent, run: CliRun): Promise<string> {
  if (run.exitCode === 0) return toStatus(run.json());
  if (!alive(agent) || !existsSync(agent.paths.currentInstance)) return `exit ${run.exitCode}`;
  return toStatus((await agent.ask("/v1/status")).body);
}

async function askedFor(agent: SickAgent): Promise<string> {
  if (!alive(agent)) return "none";
  const { status, body } = await agent.ask("/v1/requests", { kind: "interrupt" });
  return /a file of svc|internal error/.test(String(body["detail"])) ? `${status}, unnamed` : String(status);
}

function toStatus(body: Record<string, unknown>): string {
  const { reason } = (body["admission_block"] ?? {}) as { reason?: string };
  const axes = [body["gateway_health"], body["managed_agent_connectivity"], body["request_admission"]];
  return [...axes, ...(reason === undefined ? [] : [reason])].join("/");
}

function toList(body: Record<string, unknown>): string {
  const agents = body["agents"] as { agent_name: string; problem: string | null }[];
  if ((body["ignored"] as unknown[]).length > 0) return "ignored";
  const [worker] = agents.filter(({ agent_name }) => agent_name === "worker");
  return worker === undefined ? "absent" : worker.problem === null ? "listed" : "problem";
}

function toVerdict(body: Record<string, unknown>): string {
  const checks = body["checks"] as { name: string; verdict: string }[];
  const told = checks.filter(
    ({ name }) => name.startsWith("agent") || name === "registry" || name === "orphans",
  );
  const order = ["damaged", "warning", "ok"];
  return order.find((verdict) => told.some((check) => check.verdict === verdict)) ?? "nothing";
}
