import { Value } from "@sinclair/typebox/value";
import type { CarrierState, HostState } from "../../../protocol/host-states.ts";
import { HostLine, lineProtocol } from "../../../protocol/hosts.ts";
import { type Clock, sleep } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import { createLoop } from "../../../system/lifecycle.ts";
import type { Processes, StreamedProcess } from "../../../system/processes.ts";
import { visible } from "../../../system/visible.ts";
import { type Caller, createCaller } from "./caller.ts";
import { createPublishedHosts, type PublishedHosts } from "./host-directory.ts";
import {
  createLineReader,
  decodeLineBody,
  encodeLine,
  encodeMessageLine,
  maxAnswerLineBytes,
  maxLineBodyBytes,
} from "./lines.ts";
import type { RemoteHosts } from "./merged-fleet.ts";

/** A host that is reached with `ssh`, under the name that the operator chose for it. */
export interface SshTarget {
  host: string;
  /** `[user@]host` or `ssh://[user@]host[:port]`. */
  destination: string;
}

export interface SshAccess {
  /** For `ssh -F`; null: the user's own configuration. */
  configFile: string | null;
  /** What is run on the hosts as `svc-coord`. */
  program: string;
  /** A folder of this user alone for the sockets of shared connections. */
  controlFolder: string;
  env: Record<string, string>;
}

const heartbeatMs = 1000;
/** A connection without a sign of the host for so long is ended and made again. */
const silentMs = 10_000;
/** From the start of `ssh` to the first line: name look-up, key exchange, the start of the program. */
const helloMs = 20_000;
const retryMs = [250, 500, 1000, 2000, 5000] as const;
/** What a host has not yet confirmed; beyond it messages are lost, as on any way. */
const maxUnconfirmed = 32 * 1024 * 1024;
const endMs = 2000;
const maxPings = 60;
const maxComplaint = 2000;
/** With what `ssh` appends while it binds; a longer path of a socket is refused by the system. */
const maxControlPath = 85;

/** The `ssh` command of one host. No secret is in it: keys are in files that ssh reads. Pure. */
export function sshCommand(ssh: string, target: SshTarget, access: SshAccess): string[] {
  const control = `${access.controlFolder}/${target.host}`;
  const shared =
    control.length > maxControlPath
      ? ["ControlMaster=no", "ControlPath=none"]
      : ["ControlMaster=auto", "ControlPersist=no", `ControlPath=${control.replaceAll("%", "%%")}`];
  const options = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    ...shared,
  ];
  return [
    ssh,
    "-T",
    "-a",
    "-x",
    ...(access.configFile === null ? [] : ["-F", access.configFile]),
    ...options.flatMap((option) => ["-o", option]),
    "--",
    target.destination,
    `exec ${access.program} join --stdio`,
  ];
}

interface Connection {
  instance: string | null;
  write(text: string): void;
}

/** One host: its connection, made again whenever it ends. */
interface Way {
  host: string;
  caller: Caller;
  /** Why there is no connection, or null. */
  trouble(): string | null;
  latencyMs(): number | null;
  state(): Pick<CarrierState, "address" | "connected" | "reconnects">;
  start(): void;
  stop(): Promise<void>;
}

/** The operator's part. Nothing is awaited: a host that does not answer yet is away. */
export function operateSsh(deps: {
  targets: readonly SshTarget[];
  access: SshAccess;
  clock: Clock;
  ids: Ids;
  processes: Pick<Processes, "stream" | "signal" | "which">;
  log: (line: string) => void;
}): RemoteHosts {
  const ssh = deps.processes.which("ssh");
  if (ssh === null) throw new ServiceError("precondition_failed", "--ssh needs OpenSSH's ssh on PATH");
  const directory = createPublishedHosts({ clock: deps.clock, via: "ssh" });
  const ways = new Map(
    deps.targets.map((target) => [
      target.host,
      createWay({ ...deps, directory, target, command: sshCommand(ssh, target, deps.access) }),
    ]),
  );
  for (const way of ways.values()) way.start();
  return {
    directory: {
      ...directory,
      has: (host) => ways.has(host),
      hosts: () => withUnseen(directory.hosts(), [...ways.values()]),
    },
    linkTo(host) {
      const way = ways.get(host);
      if (way) return way.caller.linkTo(host);
      throw new ServiceError("not_found", `no host "${host}" is known`);
    },
    counts() {
      const all = [...ways.values()].map(({ caller }) => caller.counts());
      const sum = (name: "open" | "dropped" | "repeated") => all.reduce((total, one) => total + one[name], 0);
      return {
        open: sum("open"),
        dropped: sum("dropped"),
        repeated: sum("repeated"),
        unreadable: directory.dropped(),
      };
    },
    carriers: async () =>
      [...ways.values()].map((way) => {
        const { open, repeated, dropped } = way.caller.counts();
        return {
          via: "ssh" as const,
          host: way.host,
          ...way.state(),
          server_version: null,
          latency_ms: way.latencyMs(),
          open_calls: open,
          repeated_calls: repeated,
          dropped_messages: dropped,
          unreadable_entries: 0,
        };
      }),
    async stop() {
      await Promise.all([...ways.values()].map((way) => way.stop()));
    },
  };
}

/** A host that never answered is listed too, as away, with the reason. Pure. */
function withUnseen(seen: readonly HostState[], ways: readonly Way[]): HostState[] {
  return ways.map((way) => {
    const known = seen.find(({ host }) => host === way.host) ?? {
      host: way.host,
      via: "ssh" as const,
      state: "away" as const,
      since_utc: null,
      agents: 0,
      version: null,
    };
    return { ...known, detail: known.state === "live" ? null : way.trouble(), latency_ms: way.latencyMs() };
  });
}

function createWay(deps: {
  target: SshTarget;
  command: readonly string[];
  access: SshAccess;
  directory: PublishedHosts;
  clock: Clock;
  ids: Ids;
  processes: Pick<Processes, "stream" | "signal">;
  log: (line: string) => void;
}): Way {
  const { clock, directory, processes } = deps;
  const { host } = deps.target;
  let open: Connection | null = null;
  let epoch = 0;
  /** Connections over which the host answered. */
  let made = 0;
  let failures = 0;
  let trouble: string | null = "no connection was made yet";
  let latencyMs: number | null = null;

  const caller = createCaller({
    clock,
    ids: deps.ids,
    carrier: {
      maxBodyBytes: () => maxLineBodyBytes,
      instanceOf: directory.instanceOf,
      send(target, head, body) {
        if (open?.instance === target.instance) open.write(encodeMessageLine(head, body));
      },
    },
  });

  /** From the start of `ssh` to its end; resolves with why it ended. */
  async function connection(signal: AbortSignal): Promise<string> {
    epoch += 1;
    const child = processes.stream("process:ssh", deps.command, { env: deps.access.env, cwd: "/" });
    const complaint = lastWords(child.stderr);
    const ending = { why: null as string | null };
    const end = (why: string) => {
      ending.why ??= why;
      void endProcess(child, deps);
    };
    const leave = () => end("this server ends");
    signal.addEventListener("abort", leave, { once: true });
    let sent = 0;
    let confirmed = 0;
    let cancelSilence = clock.after(helloMs, () => end(`no answer within ${helloMs} ms`));
    let cancelPing = () => {};
    const pings = new Map<number, number>();
    const write = (text: string) => {
      if (sent - confirmed > maxUnconfirmed) return;
      sent += text.length;
      child.write(text);
    };
    const one: Connection = { instance: null, write };
    const ping = () => {
      pings.set(sent, clock.monotonicMs());
      if (pings.size > maxPings) return end(`it answered none of ${maxPings} pings`);
      write(encodeLine({ kind: "ping", sent }));
      cancelPing = clock.after(heartbeatMs, ping);
    };
    const isGreeted = () => open === one;

    const take = (line: unknown) => {
      if (!Value.Check(HostLine, line)) return;
      if (!isGreeted()) {
        if (line.kind !== "hello") return;
        if (line.protocol !== lineProtocol)
          return end(`it speaks protocol ${line.protocol}, not ${lineProtocol}`);
        open = one;
        made += 1;
        ping();
      }
      cancelSilence();
      cancelSilence = clock.after(silentMs, () => end(`silent for ${silentMs} ms`));
      if (line.kind === "message") {
        const body = decodeLineBody(line.body);
        caller.receive(host, body === null ? null : line.head, body ?? new Uint8Array(0));
      } else if (line.kind === "pong") {
        const atMs = pings.get(line.sent);
        if (atMs === undefined) return;
        latencyMs = Math.round((clock.monotonicMs() - atMs) * 100) / 100;
        confirmed = Math.max(confirmed, line.sent);
        for (const known of pings.keys()) if (known <= line.sent) pings.delete(known);
      } else if (line.kind === "agent") {
        if (line.entry === null || isOf(epoch, line.entry)) directory.agent(host, line.agent_id, line.entry);
      } else if (line.kind === "record" && isOf(epoch, line.record)) {
        directory.record(host, line.record, { fresh: true });
        const instance = directory.instanceOf(host);
        if (one.instance === instance) return;
        one.instance = instance;
        failures = 0;
        trouble = null;
        caller.endReplaced();
        caller.resume();
      }
    };
    const reader = createLineReader(take, { maxBytes: maxAnswerLineBytes });
    write(encodeLine({ kind: "hello", protocol: lineProtocol, host, epoch, heartbeat_ms: heartbeatMs }));
    try {
      for await (const bytes of child.stdout) {
        if (reader.push(bytes)) continue;
        end("it sent a line that is too long");
        break;
      }
    } catch {
      // The pipe broke; how the process ended says why.
    }
    const { exitCode } = await child.exited;
    signal.removeEventListener("abort", leave);
    cancelSilence();
    cancelPing();
    open = null;
    directory.away(host);
    return ending.why ?? reasonOf(exitCode, await complaint.within(clock), deps.access.program);
  }

  const loop = createLoop({
    clock,
    async turn(signal) {
      const before = trouble;
      const why = await connection(signal);
      trouble = why;
      if (!signal.aborted && why !== before) deps.log(`host "${host}" over ssh: ${why}`);
      const delayMs = retryMs[Math.min(failures, retryMs.length - 1)] ?? 0;
      failures += 1;
      return delayMs;
    },
    onError: (error) => {
      trouble = visible(String(error));
      deps.log(`host "${host}" over ssh: ${trouble}`);
    },
  });
  return {
    host,
    caller,
    trouble: () => trouble,
    latencyMs: () => (open === null ? null : latencyMs),
    state: () => ({
      address: deps.target.destination,
      connected: open !== null,
      reconnects: Math.max(0, made - 1),
    }),
    start: loop.start,
    async stop() {
      caller.stop();
      await loop.stop();
    },
  };
}

/** Whether a value was made for this connection, and not for one before it. Pure. */
function isOf(epoch: number, value: unknown): boolean {
  return typeof value === "object" && value !== null && (value as { epoch?: unknown }).epoch === epoch;
}

/** `ssh` takes its leave when it is asked to; one that does not is ended. */
async function endProcess(
  child: StreamedProcess,
  { clock, processes }: { clock: Clock; processes: Pick<Processes, "signal"> },
): Promise<void> {
  let ended = false;
  const exited = child.exited.then(() => {
    ended = true;
  });
  child.give(null);
  processes.signal(child.pid, "SIGTERM");
  await Promise.race([exited, sleep(clock, endMs)]);
  if (!ended) processes.signal(child.pid, "SIGKILL");
}

/** The end of what a process writes. */
function lastWords(stream: AsyncIterable<Uint8Array>): { within(clock: Clock): Promise<string> } {
  const decoder = new TextDecoder();
  let text = "";
  const read = (async () => {
    for await (const bytes of stream)
      text = (text + decoder.decode(bytes, { stream: true })).slice(-maxComplaint);
  })().catch(() => {});
  return {
    // A process that shares the connection may keep it open.
    async within(clock) {
      await Promise.race([read, sleep(clock, 200)]);
      return text;
    },
  };
}

/** Why a connection ended, and what to do where that is known. Pure. */
function reasonOf(exitCode: number | null, complaint: string, program: string): string {
  const said = visible(complaint.trim().split("\n").at(-1) ?? "").slice(0, 300);
  if (exitCode === 127) return `"${program}" is not found there; name its path with --ssh-program`;
  if (/host key verification failed/i.test(complaint)) {
    return "its host key is not known; connect once with ssh and compare the key";
  }
  const ended = exitCode === null ? "ssh was ended by a signal" : `ssh ended with ${exitCode}`;
  return said === "" ? ended : `${ended}: ${said}`;
}
