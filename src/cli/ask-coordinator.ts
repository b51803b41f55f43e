import { findConsole } from "../services/console/console-link.ts";
import { messageOf, ServiceError } from "../system/errors.ts";
import type { CliContext } from "./cli-context.ts";
import type { CliIo } from "./command.ts";

/** Longer than a server waits for a host. */
const answerMs = 30_000;

/**
 * The body of a GET at the coordination server of this user that runs, whatever its status; null when none runs. Throws
 * `unavailable` when it does not answer.
 */
export async function askCoordinator(
  context: CliContext,
  io: Pick<CliIo, "env">,
  path: string,
): Promise<{ body: unknown } | null> {
  const deps = { ...context.system, env: io.env, runtimeRoot: context.roots.runtimeRoot };
  const server = await findConsole(deps);
  if (!server) return null;
  const token = io.env["SVC_COORD_TOKEN"] || context.files.readOwn(server.paths.token)?.trim() || null;
  const late = new AbortController();
  const cancel = context.clock.after(answerMs, () => late.abort(new Error("no answer within 30 s")));
  try {
    const answer = await context.network.fetch(`${server.baseUrl}${path}`, {
      signal: late.signal,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      proxy: false,
    } as RequestInit);
    return { body: await answer.json() };
  } catch (error) {
    throw new ServiceError("unavailable", `the coordination server: ${messageOf(error)}`);
  } finally {
    cancel();
  }
}
