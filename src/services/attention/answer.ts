import type { AttentionAnswered, AttentionAnswerRequest, AttentionItem } from "../../protocol/attention.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { AwaitingDecision, DecisionAnswer } from "../../protocol/terminal.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Answer, type GatewayClient, refusalOf } from "../fleet/gateway-client.ts";

/** The gateway reads the screen after each key that moves the selection. */
const decideTimeoutMs = 30_000;

export const movedOn = (id: string) =>
  new ServiceError("precondition_failed", `${id} waits no more: it was answered, withdrawn or replaced`, {
    data: { remedy: { code: "list_attention" } satisfies Remedy },
  });

/**
 * Which of the item's answers a person gave. Throws `precondition_failed` for another instance of the agent
 * and `invalid_request` for what the item does not allow. Pure.
 */
export function chooseAnswer(
  item: AttentionItem,
  { answer, epoch }: AttentionAnswerRequest,
): AttentionItem["answers"][number] {
  if (epoch !== undefined && epoch !== item.epoch) throw movedOn(item.id);
  if (item.answers.length === 0) {
    const how = item.command === null ? item.next : `${item.next}: ${item.command}`;
    throw new ServiceError("invalid_request", `${item.id} has no answers. ${how}`);
  }
  const plain = (text: string) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const fits = item.answers.filter(
    ({ answer: number, label }) =>
      number === answer.trim() || [label, label.replace(/^\[[ x]\] /, "")].map(plain).includes(plain(answer)),
  );
  const [only] = fits;
  if (only && fits.length === 1) return only;
  const known = item.answers.map((one) => `${one.answer}. ${one.label}`).join("; ");
  throw new ServiceError("invalid_request", `answer: not one of: ${known}`);
}

/** An item and the question that it was made of. */
interface Asked {
  item: AttentionItem;
  decision: AwaitingDecision | null;
}

/**
 * The call that presses the answer: the gateway compares the question before each key. Throws as
 * `chooseAnswer`. Pure.
 */
export function toDecisionAnswer({ item, decision }: Asked, given: AttentionAnswerRequest): DecisionAnswer {
  const chosen = chooseAnswer(item, given);
  if (decision === null) throw movedOn(item.id);
  const { id, question } = decision;
  return {
    schema_version: 1,
    option: Number(chosen.answer),
    // A gateway of an earlier version compares the question alone.
    ...(id === undefined ? {} : { id }),
    ...(question.trim() === "" ? {} : { question }),
  };
}

export const toAnswered = (
  { item }: Pick<Asked, "item">,
  { index, text }: { index: number; text: string },
): AttentionAnswered => ({ status: "ok", id: item.id, answer: { answer: String(index), label: text } });

/**
 * Answers the question of an item through the agent's gateway. The gateway is not looked for before the
 * answer is known to be one of the item's; its refusal keeps status and body.
 */
export async function sendAnswer(
  asked: Asked,
  given: AttentionAnswerRequest,
  openClient: () => Promise<Pick<GatewayClient, "call">>,
): Promise<Answer<AttentionAnswered>> {
  const body = toDecisionAnswer(asked, given);
  const client = await openClient();
  const reply = await client.call("decide", { body, timeoutMs: decideTimeoutMs });
  if (reply.kind !== "ok") return refusalOf(reply);
  return { kind: "done", body: toAnswered(asked, reply.body.option) };
}
