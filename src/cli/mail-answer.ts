import type { MailMessage } from "../protocol/mail.ts";
import type { Answer } from "./command.ts";
import { renderChanged, renderSent } from "./mail-text.ts";

/** What a command that wrote mail answers with. Pure. */
export function answerSent(what: string, { done }: { done: { message: MailMessage } }): Answer {
  return { json: done, text: renderSent(what, done.message) };
}

/** What a command that changed messages answers with. Pure. */
export function answerChanged(
  what: string,
  { done }: { done: { messages: readonly MailMessage[] } },
): Answer {
  return { json: done, text: renderChanged(what, done.messages) };
}
