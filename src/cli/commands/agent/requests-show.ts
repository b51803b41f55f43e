import { renderRequest } from "../../agent-requests.ts";
import { command } from "../../command.ts";
import { readId } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { offlineRequest } from "../../offline-requests.ts";
import { openMaybeLive } from "../../target.ts";

export default command({
  name: "show",
  description: "show one request, how far it got and what proved it, also when no gateway runs",
  examples: ["svc-mgr agents single --agent-name worker requests show gwreq-20261121-044700Z-0a1b2c3d"],
  args: { id: { type: "positional", description: "the request's id" } },
  async run(invocation) {
    const params = { request_id: readId(invocation.args.id, invocation.path) };
    const { target, link, why } = await openMaybeLive(invocation);
    const record = link
      ? bodyOf(await link.client.call("readRequest", { params }))
      : await offlineRequest(invocation.io, target, why, params.request_id);
    return { json: record, text: renderRequest(record) };
  },
});
