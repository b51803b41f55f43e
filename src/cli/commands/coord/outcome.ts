import { forwardedEndpoints } from "../../../protocol/endpoints.ts";
import { RequestList, type RequestRecord } from "../../../protocol/gateway.ts";
import { openCliContext } from "../../command-line/cli-context.ts";
import { command } from "../../command-line/command.ts";
import { requireCoordinator } from "../../coordinator/ask-coordinator.ts";

export default command({
  name: "outcome",
  description: "Show what became of a request whose answer was lost",
  examples: ["svc-coord outcome 5f0c-1 --agent-name worker@build-3"],
  args: {
    key: { type: "positional", required: true, description: "idempotency key of the request" },
    "agent-name": {
      type: "string",
      required: true,
      valueHint: "NAME",
      description: "the agent: its name or id, with @HOST for one on another host",
    },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const path = forwardedEndpoints.agentListGatewayRequests.path.replace(
      ":agent_ref",
      encodeURIComponent(args["agent-name"]),
    );
    const body = await requireCoordinator(context, io, {
      path: `${path}?idempotency_key=${encodeURIComponent(args.key)}`,
      schema: RequestList,
    });
    const [request] = body.requests;
    return { json: { request: request ?? null }, text: wordsOf(request, args.key) };
  },
});

function wordsOf(request: RequestRecord | undefined, key: string): string {
  if (!request) return `no request with the key ${key} was accepted: it was not done, and may be sent again`;
  const { request_id, state, accepted_at_utc, error_detail: why } = request;
  return `${request_id} was accepted at ${accepted_at_utc} and is ${state}${why === null ? "" : `: ${why}`}`;
}
