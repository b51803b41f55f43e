import { maxPromptHops, type RequestRecord, type Submitter } from "../protocol/gateway.ts";
import { linkGateway } from "../services/fleet/gateway-link.ts";
import { findSelf } from "../services/sessions/find.ts";
import { gatewayIdentity } from "../services/sessions/gateway-folder.ts";
import { ServiceError } from "../system/errors.ts";
import type { CliContext } from "./cli-context.ts";
import type { CliIo } from "./command.ts";

/** How far back the prompt is looked for that the agent works on. */
const looked = 20;

/**
 * Which agent this process runs in, with the length of the chain that its prompts continue; null in nobody's session.
 * Throws `precondition_failed` for a chain of more than `maxPromptHops` agents.
 */
export async function findSubmitter(context: CliContext, env: CliIo["env"]): Promise<Submitter | null> {
  if (env["SVC_MANIFEST_PATH"] === undefined && env["SVC_AGENT_ID"] === undefined) return null;
  const { files, registry, paneTmux: tmux, clock } = context;
  const self = await findSelf({ files, registry, tmux, env, nowMs: clock.nowMs() }).catch(() => null);
  if (self === null) return null;
  const { manifest, sessionRoot } = self;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(context, { sessionRoot, attachIdentity });
  const response =
    link.state === "healthy" ? await link.client.call("listRequests", { query: { limit: looked } }) : null;
  const hops = (response?.kind === "ok" ? hopsOf(response.body.requests) : 0) + 1;
  if (hops > maxPromptHops) {
    throw new ServiceError(
      "precondition_failed",
      `not submitted: ${maxPromptHops} agents have handed this task on, one to the next, which looks like a loop. Finish it here, or ask a person`,
    );
  }
  return { agent_id: manifest.agent_id, agent_name: manifest.agent_name, hops };
}

/** Hops of the prompt whose turn runs; 0 when a person gave it or none runs. `requests`: newest first. Pure. */
export function hopsOf(requests: readonly RequestRecord[]): number {
  const working = requests.find(
    ({ request_kind: kind, state, evidence }) =>
      kind !== "interrupt" &&
      (state === "running" || state === "completed") &&
      !evidence.some(({ step }) => step === "turn_ended"),
  );
  return working?.submitted_by?.hops ?? 0;
}
