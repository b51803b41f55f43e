import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { PermissionAction, PermissionPolicy } from "../../../../protocol/acp-launch.ts";
import type { AwaitingDecision } from "../../../../protocol/terminal.ts";
import { toSummary } from "../../../headless/display.ts";
import { fieldsOf, renderValue } from "../../../headless/json-fields.ts";
import { textsOfCall } from "../../../headless/tool-calls.ts";

/**
 * A permission request with the facts that the agent reported of its call before: a person or a policy
 * decides by it.
 */
interface AskedCall {
  kind: string;
  /** Empty where the agent gave none but the id of the call. */
  title: string;
  /** What the call would do, apart from the title. */
  texts: readonly string[];
}

/** Pure. */
export function toAskedCall({ toolCall }: RequestPermissionRequest): AskedCall {
  const title = toolCall.title ?? toolCall.name ?? "";
  return {
    kind: toolCall.kind ?? "other",
    title: title === toolCall.toolCallId || toSummary(title) === "" ? "" : title,
    texts: textsOfCall(fieldsOf(toolCall)).filter((text) => toSummary(text) !== ""),
  };
}

const showsNothing = ({ title, texts }: AskedCall) => title === "" && texts.length === 0;

/**
 * What the first fitting rule says. The title of an `allow` rule must fit the title; that of any other rule
 * may fit anything that the request shows. Where no rule fits, a person is asked, and a request that shows
 * nothing is denied. Pure.
 */
export function decidePermission(policy: PermissionPolicy, call: AskedCall): PermissionAction {
  const rule = policy.find(({ action, kinds, title: pattern }) => {
    if (kinds !== undefined && !kinds.includes(call.kind)) return false;
    if (pattern === undefined) return true;
    const shown = action === "allow" ? [call.title] : [call.title, ...call.texts];
    return shown.some((text) => text !== "" && fitsText(pattern.toLowerCase(), text.toLowerCase()));
  });
  return rule?.action ?? (showsNothing(call) ? "deny" : "ask");
}

/**
 * Whether all of `text` fits `pattern`, in which `*` is any text. Each part is looked for once, from the
 * left: the time grows with the length of the text and no faster. Pure.
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
 * The answer that a policy gives: for this once where the agent offers it, since the other kind changes what
 * the agent asks later. A refusal that the agent does not offer is `cancelled`; an agreement that it does not
 * offer is null: a person must choose. Pure.
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
  const question = cutMiddle(renderAsked(call, asked.toolCall.rawInput));
  return {
    kind: "permission_request",
    question,
    options: asked.options.map(({ name, optionId }, at) => ({
      index: at + 1,
      text: toSummary(name === "" ? optionId : name),
      selected: false,
    })),
    id: facts.id,
    since_utc: facts.sinceUtc,
    reported: { message: question, action: call.kind },
  };
}

/** The title, the input, and what neither of them says. Pure. */
function renderAsked(call: AskedCall, input: unknown): string {
  if (showsNothing(call)) return "a tool call of which the agent shows neither a title nor an input";
  const isEmpty = input === undefined || input === null || renderValue(input) === "{}";
  const parts = [call.title, isEmpty ? "" : renderValue(input)].filter((part) => part !== "");
  const isShown = (text: string) =>
    parts.some((part) => part.includes(text) || part.includes(JSON.stringify(text).slice(1, -1)));
  for (const text of call.texts) if (!isShown(text)) parts.push(text);
  return parts.join(": ");
}

const maxTail = 500;

/**
 * One line. The end of a long command may be what matters in it: the middle is left out, and its length is
 * named. Pure.
 */
function cutMiddle(text: string): string {
  const whole = toSummary(text, maxQuestion + 1);
  if ([...whole].length <= maxQuestion) return whole;
  const tail = [...toSummary(text.slice(-4 * maxTail), 4 * maxTail)].slice(-maxTail).join("");
  const head = [...whole].slice(0, maxQuestion - maxTail - 60).join("");
  return `${head} … (${text.length - head.length - tail.length} characters are not shown) … ${tail}`;
}
