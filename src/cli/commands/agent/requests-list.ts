import { command } from "../../command.ts";
import { renderTable } from "../../format.ts";
import { bodyOf } from "../../gateway-reply.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "list",
  description: "list the requests in the gateway's queue, newest first",
  examples: ["svc-mgr agents single --agent-name worker requests list"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const list = bodyOf(await link.client.call("listRequests", {}));
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
