import { challengeAnswerHeader, challengeHeader } from "../../protocol/wire.ts";
import type { Clock } from "../../system/clock.ts";
import { hmacSha256 } from "../../system/digest.ts";
import { messageOf } from "../../system/errors.ts";
import { createIds } from "../../system/ids.ts";
import type { Network } from "../../system/network.ts";
import { isLoopbackHost } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";

// A client sends a credential or a prompt only to a listener that proved to be the server of a record: a port
// passes to anybody once its server is gone. Source: security.md rule 4.

/** What a record says of a server. */
export interface ListenerClaim {
  pid: number;
  /** Of the recorded process; null in a record of an earlier version. */
  startToken: string | null;
  host: string;
  port: number;
  /** An address other than loopback that the user chose; null when there is none. */
  chosenHost: string | null;
}

interface ProofDeps {
  clock: Clock;
  processes: Pick<Processes, "alive" | "startToken">;
  network: Pick<Network, "fetch" | "listenerOwner">;
}

/**
 * What the holder of `key` answers; the port keeps the answer of another server of the session from being
 * handed on.
 */
export function answerChallenge(key: string, challenge: string, port: number): string {
  return hmacSha256(key, `svc-listener ${port} ${challenge}`);
}

/** A challenge that a server answers. Pure. */
export function isChallenge(text: string): boolean {
  return /^[0-9a-f]{32,128}$/.test(text);
}

/** Whether the process of a record lives. Without a recorded start its id alone decides. */
export function recordedProcessLives(
  processes: ProofDeps["processes"],
  { pid, startToken }: Pick<ListenerClaim, "pid" | "startToken">,
): boolean {
  return processes.alive(pid) && (startToken === null || processes.startToken(pid) === startToken);
}

/**
 * Why the claim cannot be true, as a clause; null when it can be true. Asks only the operating system and
 * takes microseconds: clients ask before each request.
 */
export function disproveClaim(
  { processes, network }: Pick<ProofDeps, "processes" | "network">,
  claim: ListenerClaim,
): string | null {
  const { pid, startToken, host, port } = claim;
  if (!isLoopbackHost(reachableHost(host)) && host !== claim.chosenHost) {
    return `its record names the address ${JSON.stringify(host.slice(0, 64))}, which is not loopback and was not asked for`;
  }
  if (startToken === null) return `its record does not say when process ${pid} started`;
  if (!processes.alive(pid)) return `its process ${pid} has ended`;
  if (processes.startToken(pid) !== startToken) return `process ${pid} is another one than the recorded`;
  switch (network.listenerOwner(reachableHost(host), port)) {
    case "own":
    case "unsupported":
      return null;
    case "none":
      return `nothing listens at http://${bracketed(reachableHost(host))}:${port}`;
    case "other":
      return `port ${port} belongs to another user of this machine`;
  }
}

/** A challenge that travels with a request, and the verdict on the headers of its answer. */
export interface ListenerProof {
  headers: Record<string, string>;
  /** Why they prove nothing, as a clause; null when they do. */
  disprove(headers: Headers): string | null;
}

export function challengeFor(key: string, { port }: Pick<ListenerClaim, "port">): ListenerProof {
  const challenge = createIds().hex(32);
  return {
    headers: { [challengeHeader]: challenge },
    disprove: (headers) =>
      headers.get(challengeAnswerHeader) === answerChallenge(key, challenge, port)
        ? null
        : "did not prove to be this session's server",
  };
}

/**
 * Why the listener is not believed, as a clause; null once it proved that it holds `key`. Sends nothing but
 * `/health` with a random challenge. Never rejects.
 */
export async function proveListener(
  deps: ProofDeps,
  claim: ListenerClaim,
  options: { key: string | null; timeoutMs: number; respectProxyEnvironment: boolean },
): Promise<string | null> {
  const impossible = disproveClaim(deps, claim);
  if (impossible !== null) return impossible;
  const baseUrl = baseUrlOf(claim);
  if (options.key === null) return `${baseUrl} cannot be proved: the session has no key`;
  const proof = challengeFor(options.key, claim);
  const late = new AbortController();
  const { timeoutMs } = options;
  const cancel = deps.clock.after(timeoutMs, () => late.abort(new Error(`no answer within ${timeoutMs} ms`)));
  try {
    const response = await deps.network.fetch(`${baseUrl}/health`, {
      signal: late.signal,
      redirect: "error",
      headers: proof.headers,
      ...(options.respectProxyEnvironment ? {} : { proxy: false }),
    } as unknown as RequestInit);
    await response.body?.cancel();
    if (!response.ok) return `${baseUrl} answers /health with status ${response.status}`;
    const why = proof.disprove(response.headers);
    return why === null ? null : `${baseUrl} ${why}`;
  } catch (error) {
    return whyUnreachable(error, baseUrl);
  } finally {
    cancel();
  }
}

export function baseUrlOf({ host, port }: Pick<ListenerClaim, "host" | "port">): string {
  return `http://${bracketed(reachableHost(host))}:${port}`;
}

const bracketed = (host: string) => (host.includes(":") ? `[${host}]` : host);

/** A listener on all addresses is reached over loopback (contract 4.1, mail rule 2). */
function reachableHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
}

/** Bun's own messages for these are advice for authors of web pages. */
export function whyUnreachable(error: unknown, baseUrl: string): string {
  if (wasRefused(error)) return `nothing listens at ${baseUrl}`;
  if (codeOf(error) === "ECONNRESET") return `${baseUrl} closed the connection without an answer`;
  return `${baseUrl}: ${messageOf(error)}`;
}

export function wasRefused(error: unknown): boolean {
  return codeOf(error) === "ConnectionRefused" || codeOf(error) === "ECONNREFUSED";
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
