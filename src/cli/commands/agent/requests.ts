import type { RequestRecord } from "../../../protocol/gateway.ts";
import { renderRequest, stateForPeople } from "../../agent/agent-requests.ts";
import { bodyOf } from "../../agent/target.ts";
import { command } from "../../command-line/command.ts";
import { readId } from "../../command-line/flag-values.ts";
import { renderTable } from "../../command-line/format.ts";
import { listRequests, openReadable } from "../../operations/read.ts";

const list = command({
  name: "list",
  description: "list the requests in the gateway's queue, newest first, also when none runs",
  examples: ["svc-mgr agents single --agent-name worker requests list"],
  async run(invocation) {
    const list = await listRequests(invocation);
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
    const { client } = await openReadable(invocation);
    const record = bodyOf(await client.call("readRequest", { params }));
    return { json: record, text: renderRequest(record) };
  },
});

export const requestCommands = { list, show };
