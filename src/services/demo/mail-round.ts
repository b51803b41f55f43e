import type { MailMessage } from "../../protocol/mail.ts";

/** One round of mail, as a wake-up prompt asks for it. */
export interface MailRound {
  /** The gateway's address, read from the prompt and from nowhere else. */
  baseUrl: string;
  /** References in the order of the prompt. */
  refs: readonly string[];
}

/** What the scripted agent did in a mail round; a line of its log each, after the gateway agreed. */
export type MailAct =
  | { kind: "mail_read"; message_ref: string; sender: string; subject: string }
  | { kind: "mail_replied"; message_ref: string; body: string }
  | { kind: "mail_sent"; to: string; subject: string; body: string }
  | { kind: "mail_archived"; message_ref: string };

/** What one message asks of the scripted agent before it is archived. */
export type MailAnswer =
  | { answer: "none" }
  | { answer: "reply"; body: string }
  | { answer: "send"; to: string; subject: string; body: string };

/**
 * Reads a wake-up prompt. Null for any other prompt: without a gateway's address and at least one reference there
 * is no round. The lines are those of the notifier's prompt (contract 2.6).
 */
export function parseMailRound(prompt: string): MailRound | null {
  const baseUrl = /^Gateway: (http:\/\/\S+)$/m.exec(prompt)?.[1];
  const refs = [...prompt.matchAll(/^\d+\. message_ref: (\S+)(?: \||$)/gm)].flatMap(([, ref]) => ref ?? []);
  return baseUrl === undefined || refs.length === 0 ? null : { baseUrl, refs };
}

/**
 * What a message is answered with, by its body alone: `TALK <address> <n>` begins a conversation of n rounds;
 * `round <k> of <n>` is answered with the next round until the last one; anything else needs no answer.
 */
export function planMailAnswer(message: Pick<MailMessage, "body_text">): MailAnswer {
  const body = message.body_text ?? "";
  const talk = /^TALK (\S+@\S+) (\d{1,4})$/m.exec(body);
  if (talk?.[1] && talk[2]) {
    return { answer: "send", to: talk[1], subject: "A conversation", body: `round 1 of ${talk[2]}` };
  }
  const round = /^round (\d{1,4}) of (\d{1,4})$/m.exec(body);
  const [now, last] = [Number(round?.[1]), Number(round?.[2])];
  return now < last ? { answer: "reply", body: `round ${now + 1} of ${last}` } : { answer: "none" };
}
