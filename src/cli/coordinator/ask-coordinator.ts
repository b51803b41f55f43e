import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { findConsole } from "../../services/fleet/console-link.ts";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";

/** Longer than a server waits for a host. */
const answerMs = 30_000;

/**
 * The body of a GET at the coordination server of this user that runs; null when none runs. Throws
 * `unavailable` when it does not answer, and with its own reason for a refusal or a body of another version.
 */
export async function askCoordinator<S extends TSchema>(
  context: CliContext,
  io: Pick<CliIo, "env">,
  { path, schema }: { path: string; schema: S },
): Promise<Static<S> | null> {
  const deps = { ...context.system, env: io.env, runtimeRoot: context.roots.runtimeRoot };
  const server = await findConsole(deps);
  if (!server) return null;
  const token = io.env["SVC_COORD_TOKEN"] || context.files.read(server.paths.token)?.trim() || null;
  const late = new AbortController();
  const cancel = context.clock.after(answerMs, () => late.abort(new Error("no answer within 30 s")));
  let body: unknown;
  try {
    const answer = await context.network.fetch(`${server.baseUrl}${path}`, {
      signal: late.signal,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      proxy: false,
    } as RequestInit);
    body = await answer.json();
  } catch (error) {
    throw wrapRefusal(error, "unavailable", (why) => `the coordination server: ${why}`);
  } finally {
    cancel();
  }
  if (Value.Check(schema, body)) return body;
  const { detail } = (body ?? {}) as { detail?: unknown };
  const why = typeof detail === "string" ? detail : "it answers in a form of another version";
  throw new ServiceError("unavailable", `the coordination server: ${why}`);
}

/** The same; throws `unavailable` when none runs. */
export async function requireCoordinator<S extends TSchema>(
  ...asked: Parameters<typeof askCoordinator<S>>
): Promise<Static<S>> {
  const body = await askCoordinator(...asked);
  if (body === null) throw new ServiceError("unavailable", "no coordination server runs: svc-coord serve");
  return body;
}
