import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import { ServiceError } from "../../system/errors.ts";
import { createPrivately, fileIdentity } from "../../system/private-file.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";

const restart = "restart the gateway (`gateway detach`, then `gateway attach`)";

/**
 * What a gateway does about its database when the file was removed or replaced under it: where nothing stands in its
 * place, all that it holds is written there again, once; from then on every write is refused. Nothing that was
 * accepted is lost, and nothing is accepted into a file without a name.
 */
export function refuseLostFile(path: string): (client: Database) => never {
  const name = basename(path);
  return (client) => {
    if (fileIdentity(path) === null) {
      createPrivately(path);
      client.query("VACUUM INTO ?").run(path);
    }
    throw new ServiceError("unavailable", `${name} was removed or replaced under the gateway; ${restart}`);
  };
}

/** Inserts a request and takes it back: a disk that is nearly full may have room for one page and not for this. */
export function probeQueue(client: Database): void {
  client.run(
    `INSERT INTO gateway_requests
       (request_id, request_kind, lane, payload_json, state, accepted_at_utc, managed_agent_instance_epoch)
     VALUES ('probe', 'interrupt', 'interrupt', '{}', 'accepted', '', 0)`,
  );
  client.run("DELETE FROM gateway_requests WHERE request_id = 'probe'");
  client.run("UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'gateway_requests'");
}

/** A refusal that names the file and says what to do, for one that is damaged; any other error as it is. */
export function whenDamaged(error: unknown, path: string): unknown {
  const fault = storageFaultOf(error)?.fault;
  const name = basename(path);
  if (fault === "missing") {
    const problem = `${name} cannot be opened: it must be a file of this user. Move away what is in its place`;
    return new ServiceError("precondition_failed", problem, { cause: error });
  }
  if (fault !== "damaged") return error;
  return new ServiceError(
    "precondition_failed",
    `${name} is damaged: put a copy of it in its place, or move it and the files ${name}-* away; then the gateway begins an empty queue and reports, from its history, which requests were lost`,
    { cause: error },
  );
}
