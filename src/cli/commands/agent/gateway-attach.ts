import { attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import { gatewayIdentity } from "../../../services/sessions/gateway-folder.ts";
import { ServiceError } from "../../../system/errors.ts";
import { command, UsageError } from "../../command.ts";
import {
  attachmentRootFlag,
  listenerFlags,
  readListenerWish,
  toAttachmentRoots,
  toOrigins,
} from "../../listener-flags.ts";
import { narrate, warn } from "../../narrate.ts";
import { findRecoveryAdvice, type RecoveryAdvice } from "../../recovery-advice.ts";
import { openTarget, type Target } from "../../target.ts";
import { attachTimingFlags, readTimings } from "../../timing-flags.ts";

export default command({
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
    background: { type: "boolean", description: "run it as a process of its own, without a window" },
    reconcile: {
      type: "boolean",
      description: "work with the agent's present instance; what an earlier one was asked for fails",
    },
    ...attachTimingFlags,
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
      reconcile: args.reconcile,
      executionMode: args.background
        ? ("detached_process" as const)
        : args.window
          ? ("tmux_auxiliary_window" as const)
          : undefined,
    };
    const target = await openTarget(invocation);
    const { world, agent } = target;
    const way = await findRecoveryAdvice(target);
    await refuseEnded(target, way);
    await narrate(io, `starting a gateway for ${agent.manifest.agent_name}`);
    const attachmentRoots = toAttachmentRoots(args["attachment-root"], { cwd: io.cwd, files: world.files });
    const { link, started } = await attachGateway(world, agent, { ...wish, attachmentRoots }).catch(
      (error: unknown) => {
        throw way.step === "detach" ? withAdvice(error, way) : error;
      },
    );
    const { client, status } = link;
    const asked = [
      args.host,
      args.port,
      wish.executionMode,
      ...wish.allowOrigins,
      ...Object.values(wish.timings),
    ];
    if (!started && asked.some((one) => one !== undefined)) {
      await warn(io, "the gateway that runs was left as it is; detach it first to start one that differs");
    }
    return {
      json: status,
      text: started ? `gateway started: ${client.baseUrl}` : `a gateway already serves it: ${client.baseUrl}`,
    };
  },
});

/** A gateway needs no session to start, and so would serve an agent that is not there until somebody ends it. */
async function refuseEnded({ world, agent }: Target, way: RecoveryAdvice): Promise<void> {
  if (way.step === "attach" || way.step === "detach") return;
  const { manifest, sessionRoot } = agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(world, { sessionRoot, attachIdentity });
  if (link.state === "healthy") return;
  throw new ServiceError("unavailable", `no gateway was started for "${manifest.agent_name}". ${way.advice}`);
}

/** Why no other gateway is let in is known only of the one that holds the queue and is silent. */
function withAdvice(error: unknown, { advice }: RecoveryAdvice): unknown {
  if (!(error instanceof ServiceError) || error.reason !== "unavailable") return error;
  return new ServiceError(error.reason, `${error.message}\n${advice}`, { cause: error });
}
