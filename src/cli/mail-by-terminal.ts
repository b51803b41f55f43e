import { join } from "node:path";
import type { MailboxBinding } from "../protocol/files.ts";
import { defaultTimings } from "../protocol/terminal.ts";
import type { SubmitOutcome } from "../services/agent/agent.ts";
import {
  type AskedOperation,
  type AskedStatus,
  renderMailPrompt,
  toAskedStatus,
  verificationPaths,
} from "../services/mail/fallback.ts";
import { localInteractive } from "../services/sessions/names.ts";
import { sessionPaths } from "../services/sessions/roots.ts";
import { profileFor } from "../services/terminal/profile.ts";
import { timestampNow } from "../system/clock.ts";
import { idStamp } from "../system/ids.ts";
import { readProfiles } from "./cli-context.ts";
import { createGatewayAgent } from "./gateway-agent.ts";
import { selfCommand } from "./self-command.ts";
import type { Target } from "./target.ts";

/** What is reported of a mail operation that the agent itself was asked to do (contract 4.5). */
export interface MailAsked {
  schema_version: 1;
  transport: string;
  principal_id: string;
  address: string;
  bindings_version: string;
  operation: AskedOperation;
  authoritative: false;
  status: AskedStatus;
  execution_path: "tui_submission";
  request_id: string;
  verification_required: true;
  verification_paths: string[];
  detail: string;
  submitted_at_utc?: string;
}

/** How long the agent may take to be ready for a turn before it counts as busy. */
const readyMs = 8000;
const firstLookMs = 3000;

/**
 * Asks the agent in its terminal to do what nobody could do in its mailbox. Null when no terminal of it is live, so
 * that nothing was typed. What its screen shows afterwards is no proof and is not looked at.
 */
export async function askInTerminal(
  target: Target,
  binding: MailboxBinding,
  wish: { operation: AskedOperation; request: object },
  interrupted: AbortSignal,
): Promise<MailAsked | null> {
  const { clock, ids } = target.context;
  const requestId = `mailreq-${idStamp(clock.nowMs())}-${ids.hex(5)}`;
  const prompt = renderMailPrompt({ requestId, address: binding.address, ...wish });
  const asked = await submitAlone(target, prompt, interrupted);
  if (asked === null) return null;
  const { message_refs: refs = [] } = wish.request as { message_refs?: string[] };
  return {
    schema_version: 1,
    transport: binding.transport,
    principal_id: binding.principal_id,
    address: binding.address,
    bindings_version: binding.bindings_version,
    operation: wish.operation,
    authoritative: false,
    status: asked.status,
    execution_path: "tui_submission",
    request_id: requestId,
    verification_required: true,
    verification_paths: verificationPaths(wish.operation, target.commandPrefix, refs),
    detail: asked.detail,
    ...(asked.status === "submitted" ? { submitted_at_utc: timestampNow(clock) } : {}),
  };
}

/** Types into the agent's terminal as its gateway would, and in the place of one: never beside it. */
async function submitAlone(
  { context, agent: { manifest, sessionRoot } }: Target,
  prompt: string,
  interrupted: AbortSignal,
): Promise<{ status: AskedStatus; detail: string } | null> {
  if (manifest.backend !== localInteractive) return null;
  if (!(await context.tmuxFor(manifest.tmux.socket).hasSession(manifest.tmux_session_name))) return null;
  const { runRoot } = sessionPaths(sessionRoot);
  context.files.ensureDirectory("file:gateway-folder", runRoot);
  const lock = context.locks.tryTake(join(runRoot, "gateway.lock"));
  if (!lock) return { status: "busy", detail: "another process drives the agent's terminal" };
  const driven = createGatewayAgent({
    ...{ system: context.system, manifest, sessionRoot, env: context.env },
    profile: profileFor(manifest.tool, readProfiles(context.system, context.env)),
    timings: defaultTimings,
    log: { line: () => {} },
    events: { append: () => {}, subscribe: () => () => {} },
    bridgeCommand: [...selfCommand(), "turn-bridge"],
  });
  let typed = false;
  try {
    driven.start();
    await driven.firstLook(firstLookMs);
    if (!driven.agent.presence().connected) return null;
    await driven.agent.waitFor("ready", { timeoutMs: readyMs, signal: interrupted });
    if (interrupted.aborted)
      return { status: "interrupted", detail: "interrupted before anything was typed" };
    const submission = driven.agent.submit({
      prompt,
      policy: "turn_boundary",
      begin: () => {
        typed = true;
      },
      onEvidence: () => {},
    });
    const outcome = await Promise.race([submission, aborted(interrupted)]);
    if (outcome !== null) return toAskedStatus(outcome);
    // What was begun is ended properly: half a prompt in the composer would be worse than none.
    await submission;
    return { status: "interrupted", detail: typed ? "interrupted while it was typed" : "interrupted" };
  } finally {
    await driven.stop();
    lock.release();
  }
}

function aborted(signal: AbortSignal): Promise<SubmitOutcome | null> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
}
