import { type MailRound, parseMailRound, planMailAnswer } from "../../../src/services/demo/script.ts";
import { mailRoundSkill } from "../../../src/services/notifier/render.ts";
import { sayAtOnce } from "../../support/model-server/scenario.ts";
import type { Part } from "../../support/model-server/server.ts";
import { fillIn, skillCommands } from "../../support/skill-commands.ts";
import { type MailReply, readReply } from "./mail-part.ts";

/**
 * The part of an agent that knows nothing of the mail API. Woken by mail it has the CLI open the skill, where
 * that does not hand it over by itself, and runs commands of the text which the CLI then sends, one after the
 * other: the list, then for the oldest message read, reply and archive, then a last word. Other prompts are
 * not its business.
 */
export const skillPart: Part = ({ prompt, toolResults, skillTexts }) => {
  const round = parseMailRound(prompt);
  if (!round) return null;
  const text = skillTexts.at(-1);
  if (text === undefined) {
    if (toolResults.length > 0) return sayAtOnce(`The skill was not opened: ${toolResults.at(-1)}`);
    return { ...sayAtOnce("The skill first."), skill: mailRoundSkill };
  }
  try {
    const call = nextCall(toolResults.filter((result) => !opensSkill(result)).map(readReply));
    if (call === null) return sayAtOnce("The mail is done.");
    return { ...sayAtOnce("ok"), command: { command: commandFor(call, round, text), escalate: false } };
  } catch (error) {
    return sayAtOnce(`The round was broken off: ${error instanceof Error ? error.message : error}`);
  }
};

/** What a tool that opens skills gives back. */
const opensSkill = (result: string) => /^(?:Launching skill: |<activated_skill )/.test(result);

interface SkillCall {
  verb: "list" | "read" | "reply" | "archive";
  values: Readonly<Record<string, string>>;
}

/** The step of the skill after those that were answered with `replies`; null when all is done. */
function nextCall([list, read, ...others]: readonly MailReply[]): SkillCall | null {
  if (!list) return { verb: "list", values: {} };
  const ref = list.messages?.at(-1)?.message_ref;
  if (ref === undefined) return null;
  if (!read) return { verb: "read", values: { REF: ref } };
  const plan = planMailAnswer({ body_text: read.message?.body_text ?? null });
  if (plan.answer === "reply" && others.length === 0) {
    return { verb: "reply", values: { REF: ref, TEXT: JSON.stringify(plan.body).slice(1, -1) } };
  }
  const owed = plan.answer === "reply" ? 1 : 0;
  return others.length === owed ? { verb: "archive", values: { REF: ref } } : null;
}

/** The command that the skill's text shows for a verb, filled in. Throws when it shows none. */
function commandFor({ verb, values }: SkillCall, { baseUrl }: MailRound, text: string): string {
  const shown = skillCommands(text).find((command) => command.includes(`/v1/mail/${verb} `));
  if (shown === undefined) throw new Error(`the skill shows no command for ${verb}`);
  return fillIn(shown, { GATEWAY: baseUrl, ...values });
}
