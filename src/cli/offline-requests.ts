import type { RequestRecord } from "../protocol/gateway.ts";
import { sessionPaths } from "../services/sessions/roots.ts";
import { readOfflineRequest, readOfflineRequests } from "../services/status/offline-queue.ts";
import { ServiceError } from "../system/errors.ts";
import type { CliIo } from "./command.ts";
import { warn } from "./narrate.ts";
import type { Target } from "./target.ts";

/** As many as a gateway gives unasked. */
const shown = 100;

/** The newest requests of a queue that no gateway serves, from its file (ruling 34); says so on stderr. */
export async function offlineRequests(io: CliIo, target: Target, why: string): Promise<RequestRecord[]> {
  return (await fromFile(io, target, why, (path) => readOfflineRequests(path, shown, why))) ?? [];
}

/** One of them. Throws `not_found`. */
export async function offlineRequest(
  io: CliIo,
  target: Target,
  why: string,
  requestId: string,
): Promise<RequestRecord> {
  const record = await fromFile(io, target, why, (path) => readOfflineRequest(path, requestId, why));
  if (record) return record;
  throw new ServiceError("not_found", "no request with this id");
}

async function fromFile<T>(
  io: CliIo,
  { world, agent }: Target,
  why: string,
  read: (path: string) => T,
): Promise<T | null> {
  const { queue } = sessionPaths(agent.sessionRoot);
  await warn(io, `read from queue.sqlite: ${why}`);
  return world.files.exists(queue) ? read(queue) : null;
}
