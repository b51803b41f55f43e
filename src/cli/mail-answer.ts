import type { MailMessage } from "../protocol/mail.ts";
import type { Answer } from "./command.ts";
import { exitCodes } from "./dispatch.ts";
import type { MailAsked } from "./mail-by-terminal.ts";
import { renderChanged, renderSent } from "./mail-text.ts";

/** What a command that wrote mail answers with. Pure. */
export function answerSent(
  what: string,
  outcome: { done: { message: MailMessage } } | { asked: MailAsked },
): Answer {
  if ("asked" in outcome) return answerAsked(outcome.asked);
  return { json: outcome.done, text: renderSent(what, outcome.done.message) };
}

/** What a command that changed messages answers with. Pure. */
export function answerChanged(
  what: string,
  outcome: { done: { messages: readonly MailMessage[] } } | { asked: MailAsked },
): Answer {
  if ("asked" in outcome) return answerAsked(outcome.asked);
  return { json: outcome.done, text: renderChanged(what, outcome.done.messages) };
}

/** What was asked of the agent is not done by that: whoever asked is told where to look. */
function answerAsked(asked: MailAsked): Answer {
  const lines = [
    `the mailbox cannot be reached; the agent was asked in its terminal: ${asked.status} (${asked.request_id})`,
    `  ${asked.detail}`,
    ...asked.verification_paths.map((path) => `  see whether it was done: ${path}`),
  ];
  return {
    json: asked,
    text: lines.join("\n"),
    exitCode: asked.status === "submitted" ? exitCodes.done : exitCodes.refused,
  };
}
