import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { PermissionAction, PermissionPolicy } from "../../protocol/acp-launch.ts";
import type { AwaitingDecision } from "../../protocol/terminal.ts";
import { toSummary } from "../headless/display.ts";
import { renderValue } from "../headless/json-fields.ts";

/** What a rule of a policy looks at. */
export interface AskedCall {
  kind: string;
  title: string;
}

/** What a person or a policy decides about. Pure. */
export function toAskedCall({ toolCall }: RequestPermissionRequest): AskedCall {
  return { kind: toolCall.kind ?? "other", title: toolCall.title ?? toolCall.name ?? toolCall.toolCallId };
}

/** What the first fitting rule says; `ask` where none fits. Pure. */
export function decidePermission(policy: PermissionPolicy, call: AskedCall): PermissionAction {
  const rule = policy.find(
    ({ kinds, title }) =>
      (kinds === undefined || kinds.includes(call.kind)) &&
      (title === undefined || fitsText(title.toLowerCase(), call.title.toLowerCase())),
  );
  return rule?.action ?? "ask";
}

/**
 * Whether all of `text` fits `pattern`, in which `*` is any text. Each part is looked for once, from the left: the time
 * grows with the length of the text and no faster. Pure.
 */
function fitsText(pattern: string, text: string): boolean {
  const parts = pattern.split("*");
  const first = parts[0] ?? "";
  if (parts.length === 1) return text === pattern;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  const last = parts.at(-1) ?? "";
  return text.length - last.length >= at && text.endsWith(last);
}

export const cancelledOutcome: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/**
 * The answer that a policy gives: for this once where the agent offers it, since the other kind changes what the agent
 * asks later. A refusal that the agent does not offer is `cancelled`; an agreement that it does not offer is null: a person
 * must choose. Pure.
 */
export function answerOfPolicy(
  action: Exclude<PermissionAction, "ask">,
  options: RequestPermissionRequest["options"],
): RequestPermissionResponse | null {
  const wanted = action === "allow" ? (["allow_once"] as const) : (["reject_once", "reject_always"] as const);
  for (const kind of wanted) {
    const option = options.find((one) => one.kind === kind);
    if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
  }
  return action === "allow" ? null : cancelledOutcome;
}

const maxQuestion = 2000;

/** The question as a person is shown it. Pure. */
export function toDecision(
  asked: RequestPermissionRequest,
  facts: { id: string; sinceUtc: string },
): AwaitingDecision {
  const call = toAskedCall(asked);
  const input = asked.toolCall.rawInput;
  const details = input === undefined || input === null ? "" : toSummary(renderValue(input), maxQuestion);
  return {
    kind: "permission_request",
    question: toSummary(details === "" ? call.title : `${call.title}: ${details}`, maxQuestion),
    options: asked.options.map(({ name, optionId }, at) => ({
      index: at + 1,
      text: toSummary(name === "" ? optionId : name),
      selected: false,
    })),
    id: facts.id,
    since_utc: facts.sinceUtc,
    reported: { message: toSummary(call.title, maxQuestion), action: call.kind },
  };
}
