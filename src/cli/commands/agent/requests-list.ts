import { command } from "../../command.ts";
import { renderTable } from "../../format.ts";
import { bodyOf } from "../../gateway-call.ts";
import { offlineRequests } from "../../offline-requests.ts";
import { openMaybeLive } from "../../target.ts";

export default command({
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
      one.state,
      one.accepted_at_utc,
      one.error_detail ?? one.waiting?.reason ?? one.evidence.at(-1)?.step ?? "",
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
