import type { RequestRecord } from "../../../protocol/gateway.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { readOfflineRequest, readOfflineRequests } from "../../../services/status/project.ts";
import { ServiceError } from "../../../system/errors.ts";
import { renderRequest, stateForPeople } from "../../agent/agent-requests.ts";
import { bodyOf, openMaybeLive, type Target } from "../../agent/target.ts";
import { type CliIo, command } from "../../command-line/command.ts";
import { readId } from "../../command-line/flag-values.ts";
import { renderTable } from "../../command-line/format.ts";
import { warn } from "../../command-line/narrate.ts";

const list = command({
  name: "list",
  description: "list the requests in the gateway's queue, newest first, also when none runs",
  examples: ["svc-mgr agents single --agent-name worker requests list"],
  async run(invocation) {
    const { target, link, why } = await openMaybeLive(invocation);
    const list = link
      ? bodyOf(await link.client.call("listRequests", {}))
      : { schema_version: 1 as const, requests: await offlineRequests(invocation.io, target, why) };
    const rows = list.requests.map((one) => [
      one.request_id,
      one.request_kind,
      stateForPeople(one),
      one.accepted_at_utc,
      one.error_detail ?? one.waiting?.reason ?? lastStepOf(one),
    ]);
    return {
      json: list,
      text:
        rows.length === 0
          ? "no requests yet"
          : renderTable(["REQUEST", "KIND", "STATE", "ACCEPTED", "NOTE"], rows),
    };
  },
});

/** What was seen last of it; of an interrupt, what it came to. */
function lastStepOf({ request_kind: kind, result_json: result, evidence }: RequestRecord): string {
  const outcome = kind === "interrupt" ? result?.["outcome"] : undefined;
  return typeof outcome === "string" ? outcome : (evidence.at(-1)?.step ?? "");
}

const show = command({
  name: "show",
  description: "show one request, how far it got and what proved it, also when no gateway runs",
  examples: ["svc-mgr agents single --agent-name worker requests show gwreq-20261121-044700Z-0a1b2c3d"],
  args: { id: { type: "positional", description: "the request's id", offers: "request-ids" } },
  async run(invocation) {
    const params = { request_id: readId(invocation.args.id, invocation.path) };
    const { target, link, why } = await openMaybeLive(invocation);
    const record = link
      ? bodyOf(await link.client.call("readRequest", { params }))
      : await offlineRequest(invocation.io, target, why, params.request_id);
    return { json: record, text: renderRequest(record) };
  },
});

export const requestCommands = { list, show };

/** The default limit of the gateway's list. */
const maxShown = 100;

/** The newest requests from the file of a queue that no gateway serves (ruling 34). Warns on stderr. */
async function offlineRequests(io: CliIo, target: Target, why: string): Promise<RequestRecord[]> {
  return (await fromFile(io, target, why, (path) => readOfflineRequests(path, maxShown, why))) ?? [];
}

/** Throws `not_found`. */
async function offlineRequest(
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
  { context, agent }: Target,
  why: string,
  read: (path: string) => T,
): Promise<T | null> {
  const { queue } = sessionPaths(agent.sessionRoot);
  await warn(io, `read from queue.sqlite: ${why}`);
  return context.files.exists(queue) ? read(queue) : null;
}
