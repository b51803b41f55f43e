import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CliFixture, CliRun } from "./cli-fixture.ts";
import type { SickAgent } from "./sick-agent.ts";
import { until } from "./until.ts";

/** What may become of a file. */
export const damages = {
  deleted: (path: string) => rmSync(path),
  emptied: (path: string) => truncateSync(path, 0),
  cut: (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  garbage: (path: string) => writeFileSync(path, new Uint8Array(9000).fill(0xa5)),
  "not JSON": (path: string) => writeFileSync(path, '{"schema_version": 1,\n'),
  "a folder": (path: string) => {
    const folder = `${path}.folder`;
    mkdirSync(join(folder, "inside"), { recursive: true });
    rmSync(path);
    // A gateway that runs may have written the file again.
    while (!moved(folder, path)) rmSync(path, { force: true });
  },
} as const;
function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "ENOTDIR") return false;
    throw error;
  }
}

export type Damage = keyof typeof damages;
export const everyDamage = Object.keys(damages) as Damage[];

/** What a person and a program are told of an agent while one of its files is damaged. */
export interface Reported {
  /**
   * `health/connectivity/admission`, with the reason where there is one; `exit N` where the command failed.
   */
  status: string;
  /** Of a prompt: its HTTP status, `unnamed` where it does not name the file; `none` where nobody listens. */
  request: string;
  /** HTTP statuses of a list of its mail and of a look at its one message; `none` where nobody listens. */
  mail: string;
  /** `listed`, `problem`, `ignored`, `orphan` or `absent`. */
  list: string;
  /** The worst that `doctor` says of the agent: `ok`, `warning`, `damaged`. */
  doctor: string;
}

/** A copy of a file, or of a database with what SQLite keeps beside it. */
export function copyOf(path: string): { restore(): void } {
  const parts = ["", "-wal", "-shm", "-journal"].map((end) => {
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

/** By its arguments: the id of a process that ended is soon another's. */
export function alive(agent: SickAgent): boolean {
  return argumentsOf(agent.gatewayPid()).includes(agent.sessionRoot);
}

/** Asked thousands of times: a process for each would be a quarter of the work. */
function argumentsOf(pid: number): string {
  if (process.platform !== "linux")
    return Bun.spawnSync(["ps", "-ww", "-o", "args=", "-p", String(pid)]).stdout.toString();
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Works on everything, a few at a time: the machine has two cores. Results in the order of `items`. */
export async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  const left = items.map((item, at) => ({ item, at }));
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) results[next.at] = await work(next.item);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return results;
}

/**
 * The status alone, by the command; by the gateway itself where the command cannot tell which agent is meant.
 */
export async function toldStatus(agent: SickAgent): Promise<string> {
  const run = await agent.runHere("gateway", "status", "--json");
  if (run.exitCode === 0) return toStatus(run.json());
  if (!alive(agent) || !existsSync(agent.paths.currentInstance)) return `exit ${run.exitCode}`;
  return toStatus((await agent.ask("/v1/status")).body);
}

/** Of a prompt: what is accepted is on disk. */
export async function toldRequest(agent: SickAgent): Promise<string> {
  if (!alive(agent)) return "none";
  const { status, body } = await agent.prompt("are you there\nFAST");
  return /a file of svc|internal error/.test(String(body["detail"])) ? `${status}, unnamed` : String(status);
}

export async function toldMail(agent: SickAgent, messageRef: string): Promise<string> {
  if (!alive(agent)) return "none";
  const list = await agent.ask("/v1/mail/list", { schema_version: 1, box: "inbox" });
  const peek = await agent.ask("/v1/mail/peek", { schema_version: 1, message_ref: messageRef });
  return `${list.status} ${peek.status}`;
}

interface DoctorCheck {
  name: string;
  verdict: string;
  detail: string;
}

/** What two commands say of all agents of a fixture. */
export interface Overview {
  listOf(agent: SickAgent, agentId: string): string;
  doctorOf(agent: SickAgent, agentId: string): string;
  /** Exit codes that do not fit what was printed. */
  wrongExits: string[];
}

/** A loaded machine does not answer for all agents in the time that one look takes; then they look again. */
export async function overlook(fixture: CliFixture): Promise<Overview> {
  const whole = async (...words: string[]) => {
    const run = await fixture.mgr(...words, "--json");
    return run.stdout.includes("no answer within") ? null : run;
  };
  const list = await until("a list of all agents", () => whole("agents", "list"));
  const doctor = await until("a diagnosis of all agents", () => whole("doctor"));
  const { agents, ignored, orphans } = list.json() as {
    agents: { agent_name: string; problem: string | null }[];
    ignored: { path: string }[];
    orphans: { agent_name: string }[];
  };
  const { checks } = doctor.json() as unknown as { checks: DoctorCheck[] };
  const bad = checks.some(({ verdict }) => verdict === "damaged" || verdict === "missing");
  return {
    listOf(agent, agentId) {
      const found = agents.find(({ agent_name }) => agent_name === agent.name);
      if (found) return found.problem === null ? "listed" : "problem";
      if (orphans.some(({ agent_name }) => agent_name === agent.name)) return "orphan";
      return ignored.some(({ path }) => path.includes(agentId)) ? "ignored" : "absent";
    },
    doctorOf(agent, agentId) {
      const session = agent.sessionRoot.slice(agent.sessionRoot.lastIndexOf("/") + 1);
      const words = [agentId, session, agent.tmuxSession];
      const told = checks.filter(
        ({ name, detail }) => name === `agent ${agent.name}` || words.some((word) => detail.includes(word)),
      );
      return ["damaged", "warning"].find((verdict) => told.some((one) => one.verdict === verdict)) ?? "ok";
    },
    wrongExits: [exitProblem("list", list, 0), exitProblem("doctor", doctor, bad ? 1 : 0)].flat(),
  };
}

function exitProblem(what: string, run: CliRun, want: number): string[] {
  return run.exitCode === want ? [] : [`${what}: exit ${run.exitCode} instead of ${want}`];
}

function toStatus(body: Record<string, unknown>): string {
  const { reason } = (body["admission_block"] ?? {}) as { reason?: string };
  const axes = [body["gateway_health"], body["managed_agent_connectivity"], body["request_admission"]];
  return [...axes, ...(reason === undefined ? [] : [reason])].join("/");
}
