import { join } from "node:path";
import { sleep } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/gateway-folder.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { type GatewayLink, type GatewayLinkDeps, linkGateway } from "./gateway-link.ts";

export interface AttachDeps extends GatewayLinkDeps {
  locks: Locks;
  processes: Processes;
  /** How this very program is started as a gateway; the session root and listener are appended. */
  serveCommand: readonly string[];
}

export interface Attached {
  link: Extract<GatewayLink, { state: "healthy" }>;
  /** False when a healthy gateway was there already. */
  started: boolean;
}

const readyWithinMs = 10_000;
const lookEveryMs = 20;
const logRows = 15;

/**
 * Makes sure that a healthy gateway serves this agent: one that is healthy is left as it is, otherwise a
 * process of its own is started that outlives us. Idempotent, also when called twice at once. Throws
 * `unavailable` with what the gateway said when it ends or is not healthy within 10 s; it is then gone again.
 */
export async function attachGateway(
  deps: AttachDeps,
  agent: Pick<FoundAgent, "manifest" | "sessionRoot">,
  listener: { host?: string | undefined; port?: number | undefined },
): Promise<Attached> {
  const { manifest, sessionRoot } = agent;
  const session = { sessionRoot, attachIdentity: gatewayIdentity(manifest).attachIdentity };
  return deps.locks.hold(
    join(sessionPaths(sessionRoot).gatewayRoot, "attach.lock"),
    async () => {
      const link = await linkGateway(deps, session);
      if (link.state === "healthy") return { link, started: false };
      return { link: await startGateway(deps, agent, session, listener), started: true };
    },
    { timeoutMs: 2 * readyWithinMs },
  );
}

async function startGateway(
  deps: AttachDeps,
  agent: Pick<FoundAgent, "manifest" | "sessionRoot">,
  session: { sessionRoot: string; attachIdentity: string },
  listener: { host?: string | undefined; port?: number | undefined },
): Promise<Attached["link"]> {
  const { clock, files, processes } = deps;
  const { gatewayLog, logRoot } = sessionPaths(session.sessionRoot);
  files.ensureDirectory("file:gateway-folder", logRoot);
  const before = files.read(gatewayLog)?.length ?? 0;
  const command = [
    ...deps.serveCommand,
    ...["--session-root", session.sessionRoot],
    ...(listener.host === undefined ? [] : ["--host", listener.host]),
    ...(listener.port === undefined ? [] : ["--port", String(listener.port)]),
  ];
  const child = processes.detach("process:gateway", command, {
    env: gatewayEnvironment(deps.env, agent.manifest.tmux.socket),
    cwd: session.sessionRoot,
    logPath: gatewayLog,
  });
  let exitCode: number | null | undefined;
  void child.exited.then((code) => {
    exitCode = code;
  });

  const deadlineMs = clock.monotonicMs() + readyWithinMs;
  let why = "";
  while (exitCode === undefined && clock.monotonicMs() < deadlineMs) {
    const link = await linkGateway(deps, session);
    if (link.state === "healthy") return link;
    why = link.why;
    await sleep(clock, lookEveryMs);
  }
  const ended = exitCode !== undefined;
  if (!ended) processes.signal(child.pid, "SIGTERM");
  const said = (files.read(gatewayLog) ?? "").slice(before).trimEnd().split("\n").slice(-logRows).join("\n");
  const what = ended ? `ended with exit code ${exitCode}` : `was not healthy within 10 s (${messageOf(why)})`;
  throw new ServiceError("unavailable", `the gateway ${what}${said ? `:\n${said}` : ""}`);
}

/** What a gateway inherits: everything but the pane we happen to run in, and the tmux server of its agent. */
function gatewayEnvironment(env: GatewayLinkDeps["env"], socket: string | undefined): Record<string, string> {
  const ofThisPane = new Set(["TMUX", "TMUX_PANE", "SVC_MANIFEST_PATH", "SVC_AGENT_ID", "SVC_TMUX_SOCKET"]);
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ofThisPane.has(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...(socket === undefined ? {} : { SVC_TMUX_SOCKET: socket }) };
}
