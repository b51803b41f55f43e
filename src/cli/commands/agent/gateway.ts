import type { AdmissionPolicy, GatewayStatus } from "../../../protocol/gateway.ts";
import { attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { type Diagnosis, remedyOfRefusal } from "../../../services/fleet/diagnose.ts";
import { diagnoseUnserved } from "../../../services/fleet/diagnose-agent.ts";
import { type GatewayClient, isOpen, toRefusalCode } from "../../../services/fleet/gateway-client.ts";
import { linkedStatus, linkGateway } from "../../../services/fleet/gateway-link.ts";
import { settleClaims } from "../../../services/fleet/liveness.ts";
import { stopGateway } from "../../../services/fleet/stop-agent.ts";
import { gatewayIdentity } from "../../../services/sessions/manifest.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { openSessionFolder } from "../../../services/sessions/session-folder.ts";
import { readOfflineRequests } from "../../../services/status/project.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { interruptThrough, renderRequest } from "../../agent/agent-requests.ts";
import { endpointCommand } from "../../agent/endpoint-command.ts";
import {
  adviseUnserved,
  blockText,
  bodyOf,
  openLiveTarget,
  openTarget,
  requireMayAnswer,
  type Target,
} from "../../agent/target.ts";
import { command, UsageError } from "../../command-line/command.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";
import { readPrompt } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { narrate, warn } from "../../command-line/narrate.ts";
import { toSentence, withRemedy } from "../../command-line/remedies.ts";
import { promptFlag } from "../../command-line/shared-flags.ts";
import {
  attachmentRootFlag,
  attachTimingFlags,
  listenerFlags,
  otlpFlag,
  readListenerWish,
  readTimings,
  toAttachmentRoots,
  toOrigins,
  toOtlpEndpoint,
  warnOfTraces,
} from "../../gateway/gateway-flags.ts";

const attach = command({
  name: "attach",
  description: "start a gateway for the agent unless a healthy one serves it",
  examples: [
    "svc-mgr agents single --agent-name worker gateway attach",
    "svc-mgr agents single --agent-name worker gateway attach --background --port 4100",
  ],
  args: {
    ...listenerFlags,
    ...attachmentRootFlag,
    window: {
      type: "boolean",
      description:
        "run it in a window `gateway` of the agent's tmux session (what is done unless asked otherwise)",
    },
    background: { type: "boolean", description: "run it as a separate process, without a window" },
    reconcile: {
      type: "boolean",
      description: "work with the agent's present instance; requests for an earlier one fail",
    },
    ...attachTimingFlags,
    ...otlpFlag,
  },
  async run(invocation) {
    const { args, io } = invocation;
    if (args.window && args.background) throw new UsageError("give --window or --background, not both");
    const wish = {
      ...readListenerWish(args, io.env),
      allowUnauthenticated: args["allow-unauthenticated"],
      noToken: args["no-token"],
      allowOrigins: toOrigins(args["allow-origin"]),
      timings: readTimings("gateway-tui-", args),
      reconcile: args.reconcile ? ("drop" as const) : undefined,
      otlpEndpoint: toOtlpEndpoint(args["otlp-endpoint"]),
      executionMode: args.background
        ? ("detached_process" as const)
        : args.window
          ? ("tmux_auxiliary_window" as const)
          : undefined,
    };
    const target = await openTarget(invocation);
    const { context, agent } = target;
    const diagnosis = await diagnoseUnserved(context, agent);
    await refuseEnded(target, diagnosis);
    await narrate(io, `starting a gateway for ${agent.manifest.agent_name}`);
    const open = args.reconcile ? openRequestsOf(target) : [];
    const attachmentRoots = toAttachmentRoots(args["attachment-root"], { cwd: io.cwd, files: context.files });
    const { link, started } = await attachGateway(context, agent, { ...wish, attachmentRoots }).catch(
      (error: unknown) => {
        throw diagnosis.problem === "gateway_silent" ? explainSilence(error, target, diagnosis) : error;
      },
    );
    if (started) await warnOfTraces(io, context.files, agent.sessionRoot);
    const { client, status } = link;
    const asked = [
      args.host,
      args.port,
      wish.executionMode,
      wish.otlpEndpoint,
      ...wish.allowOrigins,
      ...Object.values(wish.timings),
    ];
    if (!started && asked.some((one) => one !== undefined)) {
      await warn(io, "the gateway that runs was left as it is; detach it first to start one that differs");
    }
    const text = started
      ? `gateway started: ${client.baseUrl}`
      : `a gateway already serves it: ${client.baseUrl}`;
    return {
      json: status,
      text: [text, ...(await whatFailed(open, client, target))].join("\n"),
    };
  },
});

/** As many as a page of the gateway has. */
const maxRequests = 1000;

/** Ids of the requests that wait or run, by the file of the queue; none where it cannot be read. */
function openRequestsOf({ context, agent }: Target): string[] {
  const { queue } = sessionPaths(agent.sessionRoot);
  if (!context.files.exists(queue)) return [];
  try {
    return readOfflineRequests(queue, { limit: maxRequests }, { why: "" }).flatMap((one) =>
      isOpen(one) ? [one.request_id] : [],
    );
  } catch {
    return [];
  }
}

/** Which of the open requests failed by the reconciliation: a person gives them again, or does not. */
async function whatFailed(
  open: readonly string[],
  client: GatewayClient,
  { agent, advise }: Pick<Target, "agent" | "advise">,
): Promise<string[]> {
  if (open.length === 0) return [];
  const list = await client.call("listRequests", { query: { limit: maxRequests } });
  if (list.kind !== "ok") return [];
  const failed = list.body.requests.filter((one) => one.state === "failed" && open.includes(one.request_id));
  if (failed.length === 0) return [];
  const ids = failed.map(({ request_id: id }) => id).reverse();
  const what =
    ids.length === 1
      ? "1 request for the earlier instance has"
      : `${ids.length} requests for the earlier instance have`;
  return [
    `${what} failed; give again what is still wanted: ${ids.join(", ")}`,
    toSentence(advise({ code: "resubmit_failed", agent_name: agent.manifest.agent_name })),
  ];
}

const detach = command({
  name: "detach",
  description: "end the gateway; the agent goes on and accepted requests are kept",
  examples: ["svc-mgr agents single --agent-name worker gateway detach"],
  async run(invocation) {
    const { context, agent } = await openTarget(invocation);
    const stop = await stopGateway(context, agent);
    if (stop.outcome === "unproven") {
      throw new CommandFailure(
        exitCodes.refused,
        `process ${stop.pid} did not prove to be the gateway of "${agent.manifest.agent_name}" and was left alone: ${stop.why}`,
        { error: "unproven", detail: stop.why, pid: stop.pid },
      );
    }
    return {
      json: openSessionFolder(context.files, agent.sessionRoot).readOfflineStatus(agent.manifest, null),
      text: stop.outcome === "stopped" ? "the gateway has ended" : "no gateway was running",
    };
  },
});

const status = command({
  name: "status",
  description: "show the gateway's status, also when none runs",
  examples: ["svc-mgr agents single --agent-name worker gateway status --json"],
  async run(invocation) {
    const target = await openTarget(invocation);
    const { context, agent } = target;
    const { attachIdentity } = gatewayIdentity(agent.manifest);
    const link = await linkGateway(context, { sessionRoot: agent.sessionRoot, attachIdentity });
    const onClaimError = (what: string, error: unknown) =>
      void warn(invocation.io, `${what}: ${messageOf(error)}`);
    await settleClaims({ ...context, onClaimError }, agent, link);
    const status = linkedStatus(context, agent, link);
    const note = link.state === "healthy" ? link.client.baseUrl : link.why;
    const isSilent = status.admission_block?.reason === "gateway_unreachable";
    const why = blockText(target, status, isSilent ? await diagnoseUnserved(context, agent) : undefined);
    return { json: status, text: `${note}\n${renderStatus(status, why)}` };
  },
});

const policies = {
  "ready-only": "ready_only",
  "if-no-pending": "if_no_pending",
  always: "always",
} as const satisfies Record<string, AdmissionPolicy>;

const prompt = command({
  name: "prompt",
  description: "type a prompt at once, or refuse with the reason; nothing is queued",
  examples: ['svc-mgr agents single --agent-name worker gateway prompt --prompt "hello"'],
  args: {
    ...promptFlag,
    "admission-policy": {
      type: "enum",
      options: ["ready-only", "if-no-pending", "always"],
      description: "what must hold of the agent",
      default: "ready-only",
    },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const text = await readPrompt(args.prompt, io);
    const target = await openLiveTarget(invocation);
    const { link, agent, advise } = target;
    // Its Enter would take the marked option of an open question.
    if (args["admission-policy"] !== "ready-only") await requireMayAnswer(invocation, target);
    const response = await link.client.call("controlPrompt", {
      body: { schema_version: 2, prompt: text, admission_policy: policies[args["admission-policy"]] },
    });
    const refusal = response.kind === "refused" ? toRefusalCode(response.body) : null;
    const remedy = refusal && remedyOfRefusal(refusal, agent.manifest.agent_name);
    const result = bodyOf(
      response.kind === "refused" && remedy
        ? { ...response, detail: withRemedy(response.detail, remedy, advise) }
        : response,
    );
    return { json: result, text: `sent: ${result.detail}` };
  },
});

const sendKeys = endpointCommand("sendKeys", {
  name: "send-keys",
  description: "press keys and type text at once, whatever the agent shows; <[Enter]> is a key",
  examples: [
    'svc-mgr agents single --agent-name worker gateway send-keys --sequence "<[Down]><[Enter]>"',
    'svc-mgr agents single --agent-name worker gateway send-keys --sequence "as <[Text]>" --escape-special-keys',
  ],
  fields: {
    sequence: {
      required: true,
      description:
        "text, and the keys Enter Escape Tab BSpace Up Down Left Right C-c C-d C-u C-z in <[ and ]>, at most 65536 characters; no Enter is added",
    },
    escape_special_keys: { description: "type all of it as text" },
  },
  // Keys answer a question as well.
  allow: requireMayAnswer,
  render: ({ detail }) => detail,
});

const interrupt = command({
  name: "interrupt",
  description: "stop the agent's turn and show the gateway's record of it",
  examples: ["svc-mgr agents single --agent-name worker gateway interrupt"],
  async run(invocation) {
    const { context, link } = await openLiveTarget(invocation);
    const { record, outcome } = await interruptThrough(context.clock, link.client);
    return { json: record, text: renderRequest(record), exitCode: outcome.state === "failed" ? 1 : 0 };
  },
});

const reconcile = endpointCommand("reconcile", {
  name: "reconcile",
  description: "work with the agent's present instance; unfinished requests for an earlier one fail",
  examples: ["svc-mgr agents single --agent-name worker gateway reconcile"],
  render({ managed_agent_instance_epoch: epoch, failed_request_ids: failed }) {
    const fate = failed.length === 0 ? "nothing was waiting" : `failed: ${failed.join(", ")}`;
    return `epoch ${epoch} is worked with; ${fate}`;
  },
});

const keepRequests = endpointCommand("keepRequests", {
  name: "keep-requests",
  description: "work with the agent's present instance, which is given the requests for an earlier one",
  examples: ["svc-mgr agents single --agent-name worker gateway keep-requests"],
  render({ managed_agent_instance_epoch: epoch, kept_request_ids: kept }) {
    const fate = kept.length === 0 ? "nothing was waiting" : `kept: ${kept.join(", ")}`;
    return `epoch ${epoch} is worked with; ${fate}`;
  },
});

export const gatewayCommands = {
  attach,
  detach,
  status,
  prompt,
  "send-keys": sendKeys,
  interrupt,
  reconcile,
  "keep-requests": keepRequests,
};

/** A gateway starts without a session, and would then serve an ended agent until somebody stops it. */
async function refuseEnded(target: Target, diagnosis: Diagnosis): Promise<void> {
  if (diagnosis.problem !== "stopped" && diagnosis.problem !== "session_gone") return;
  const { context, agent } = target;
  const { manifest, sessionRoot } = agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(context, { sessionRoot, attachIdentity });
  if (link.state === "healthy") return;
  throw new ServiceError(
    "unavailable",
    `no gateway was started for "${manifest.agent_name}". ${adviseUnserved(target, diagnosis)}`,
  );
}

/** Only a gateway that holds the queue lock and does not answer explains why no second one starts. */
function explainSilence(error: unknown, target: Target, diagnosis: Diagnosis): unknown {
  if (!(error instanceof ServiceError) || error.reason !== "unavailable") return error;
  return new ServiceError(error.reason, `${error.message}\n${adviseUnserved(target, diagnosis)}`, {
    cause: error,
  });
}

/** `why`: it lets no request in. Pure. */
function renderStatus(status: GatewayStatus, why: string | undefined): string {
  const { waiting, reminders_lost: lost } = status;
  const window = status.gateway_tmux_window_index;
  return renderPairs([
    ["health", status.gateway_health],
    ["runs", window === undefined ? status.execution_mode : `${status.execution_mode} ${window}`],
    ["agent", status.managed_agent_connectivity],
    ["recovery", status.managed_agent_recovery],
    ["admission", status.request_admission],
    ["why", why],
    ["terminal", status.terminal_surface_eligibility],
    ["execution", status.active_execution],
    ["queue", status.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["reminders lost", lost && `${lost.count} at ${lost.at_utc}`],
    ["epoch", status.managed_agent_instance_epoch],
  ]);
}
