import { Value } from "@sinclair/typebox/value";
import { ConsoleSession, SignInCode } from "../../protocol/console.ts";
import { consoleEndpoints } from "../../protocol/console-endpoints.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { consolePage } from "../../protocol/wire.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import type { Environment } from "../sessions/roots.ts";
import { type CoordinatorPaths, coordinatorClaim, runningCoordinators } from "./coordinator-files.ts";
import { baseUrlOf, proveListener, whyUnreachable } from "./listener-proof.ts";

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
  for (const { instance, paths } of runningCoordinators(deps)) {
    const claim = coordinatorClaim(instance);
    const proof = {
      key: deps.files.read(paths.challengeKey)?.trim() || null,
      timeoutMs: answerMs,
      respectProxyEnvironment: false,
    };
    if (claim !== null && (await proveListener(deps, claim, proof)) === null)
      return { baseUrl: baseUrlOf(claim), paths };
  }
  return null;
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
export async function linkToConsole(
  deps: ConsoleLinkDeps,
  { baseUrl, paths }: Coordinator,
): Promise<ConsoleLink> {
  const token = deps.env["SVC_COORD_TOKEN"] || deps.files.read(paths.token)?.trim() || null;
  const ask = async ({ method, path }: { method: string; path: string }): Promise<unknown> => {
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
  };
  const session = await ask(consoleEndpoints.consoleSession);
  if (Value.Check(ConsoleSession, session) && session.signed_in === "not_needed")
    return { url: `${baseUrl}${consolePage}`, expiresAtUtc: null };
  const code = session === null ? null : await ask(consoleEndpoints.createSignInCode);
  if (!Value.Check(SignInCode, code)) {
    throw new ServiceError(
      "transport_failed",
      `${baseUrl} made no sign-in link: it takes no token of ${paths.token} or SVC_COORD_TOKEN, or is of an earlier version`,
    );
  }
  return { url: `${baseUrl}${code.sign_in_path}`, expiresAtUtc: code.expires_at_utc };
}
