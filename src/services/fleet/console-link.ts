import { Value } from "@sinclair/typebox/value";
import { ConsoleSession, SignInCode } from "../../protocol/console.ts";
import { consoleEndpoints } from "../../protocol/console-endpoints.ts";
import { coordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { consolePage } from "../../protocol/wire.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import type { Environment } from "../sessions/roots.ts";
import { type CoordinatorPaths, coordinatorClaim, runningCoordinators } from "./coordinator-files.ts";
import { baseUrlOf, proveListener, recordedProcessLives, whyUnreachable } from "./listener-proof.ts";

/** Where a browser finds the console. */
export interface ConsoleLink {
  url: string;
  /** When the one-time link is worth nothing any more; null where none is needed. */
  expiresAtUtc: string | null;
}

export interface ConsoleLinkDeps {
  files: Files;
  clock: Clock;
  processes: Pick<Processes, "alive" | "startToken">;
  network: Pick<Network, "fetch" | "listenerOwner">;
  env: Environment;
  runtimeRoot: string;
}

interface Coordinator {
  baseUrl: string;
  paths: CoordinatorPaths;
}

const answerMs = 5000;
const startMs = 15_000;
const pollMs = 50;

/** A coordination server of this user that proved itself, or null. */
export async function findConsole(deps: ConsoleLinkDeps): Promise<Coordinator | null> {
  for (const running of runningCoordinators(deps)) {
    const proved = await proveCoordinator(deps, running);
    if (proved !== null) return proved;
  }
  return null;
}

type RunningCoordinator = ReturnType<typeof runningCoordinators>[number];

async function proveCoordinator(
  deps: ConsoleLinkDeps,
  { instance, paths }: RunningCoordinator,
): Promise<Coordinator | null> {
  const claim = coordinatorClaim(instance);
  const proof = {
    key: deps.files.read(paths.challengeKey)?.trim() || null,
    timeoutMs: answerMs,
    respectProxyEnvironment: false,
  };
  const isProved = claim !== null && (await proveListener(deps, claim, proof)) === null;
  return isProved ? { baseUrl: baseUrlOf(claim), paths } : null;
}

/** Base addresses of the servers that were ended, and of those that the command of the console did not start. */
export interface StoppedConsoles {
  stopped: string[];
  others: string[];
}

/**
 * Ends the coordination servers that the command of the console started, and waits until their processes have gone. Throws
 * `unavailable` for one that does not end.
 */
export async function stopConsoles(deps: ConsoleLinkDeps): Promise<StoppedConsoles> {
  const result: StoppedConsoles = { stopped: [], others: [] };
  for (const running of runningCoordinators(deps)) {
    const { instance, paths } = running;
    const { pid, api_base_url: url, process_start: startToken = null } = instance;
    if (instance.started_by !== "console") {
      result.others.push(url);
      continue;
    }
    const server = await proveCoordinator(deps, running);
    // Another command may end it meanwhile: whether its process lives decides.
    if (server !== null) await ask(deps, server, coordinatorEndpoints.shutdown).catch(() => null);
    const untilMs = deps.clock.monotonicMs() + startMs;
    while (recordedProcessLives(deps.processes, { pid, startToken })) {
      if (deps.clock.monotonicMs() >= untilMs) {
        const detail = `the coordination server at ${url} does not end; its process is ${pid}, and ${paths.log} says more`;
        throw new ServiceError("unavailable", detail);
      }
      await sleep(deps.clock, pollMs);
    }
    result.stopped.push(url);
  }
  return result;
}

/**
 * The same of a server that was just started; `ended` says how it ended, once it has. Throws `unavailable`.
 */
export async function awaitConsole(deps: ConsoleLinkDeps, ended: () => string | null): Promise<Coordinator> {
  const until = deps.clock.monotonicMs() + startMs;
  for (;;) {
    const found = await findConsole(deps);
    if (found !== null) return found;
    const why =
      ended() ?? (deps.clock.monotonicMs() >= until ? `does not answer after ${startMs / 1000} s` : null);
    if (why !== null)
      throw new ServiceError("unavailable", `the coordination server ${why}`, {
        data: { remedy: { code: "start_coordinator" } satisfies Remedy },
      });
    await sleep(deps.clock, pollMs);
  }
}

/**
 * A link that signs a browser in, where the server asks for a token. Throws `unavailable`,
 * `transport_failed`.
 */
export async function linkToConsole(deps: ConsoleLinkDeps, server: Coordinator): Promise<ConsoleLink> {
  const { baseUrl, paths } = server;
  const session = await ask(deps, server, consoleEndpoints.consoleSession);
  if (Value.Check(ConsoleSession, session) && session.signed_in === "not_needed")
    return { url: `${baseUrl}${consolePage}`, expiresAtUtc: null };
  const code = session === null ? null : await ask(deps, server, consoleEndpoints.createSignInCode);
  if (!Value.Check(SignInCode, code)) {
    throw new ServiceError(
      "transport_failed",
      `${baseUrl} made no sign-in link: it takes no token of ${paths.token} or SVC_COORD_TOKEN, or is of an earlier version`,
    );
  }
  return { url: `${baseUrl}${code.sign_in_path}`, expiresAtUtc: code.expires_at_utc };
}

/** The body of an answer; null for a refusal. Throws `unavailable`. */
async function ask(
  deps: ConsoleLinkDeps,
  { baseUrl, paths }: Coordinator,
  { method, path }: { method: string; path: string },
): Promise<unknown> {
  const token = deps.env["SVC_COORD_TOKEN"] || deps.files.read(paths.token)?.trim() || null;
  const late = new AbortController();
  const cancel = deps.clock.after(answerMs, () => late.abort());
  try {
    const reply = await deps.network.fetch(`${baseUrl}${path}`, {
      method,
      signal: late.signal,
      redirect: "error",
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      proxy: false,
    } as unknown as RequestInit);
    return reply.ok ? await reply.json() : null;
  } catch (error) {
    throw new ServiceError("unavailable", whyUnreachable(error, baseUrl));
  } finally {
    cancel();
  }
}
