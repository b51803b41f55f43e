import { type MailRound, parseMailRound, planMailAnswer } from "../../../src/services/demo/script.ts";
import { type Speech, sayAtOnce } from "../../support/model-server/scenario.ts";
import type { Part } from "../../support/model-server/server.ts";

/**
 * The part of an agent that works its mail: one shell command after the other, each a call of the mail API,
 * then a last word. It knows the prompt and what its commands gave, and nothing else. Other prompts are not
 * its business.
 */
export const mailPart: Part = ({ prompt, toolResults }) => {
  const round = parseMailRound(prompt);
  if (!round) return null;
  try {
    const call = nextCall(round, toolResults.map(readReply));
    return call === null
      ? sayAtOnce("The mail is done.")
      : { ...sayAtOnce("ok"), command: toCommand(round, call) };
  } catch (error) {
    return sayAtOnce(`The round was broken off: ${error instanceof Error ? error.message : error}`);
  }
};

interface MailCall {
  path: "read" | "reply" | "archive";
  body: object;
}

/** The call after those that were answered with `replies`; null when all is done. */
function nextCall(round: MailRound, replies: readonly MailReply[]): MailCall | null {
  let answered = 0;
  for (const message_ref of round.refs) {
    const read = replies[answered++];
    if (!read) return { path: "read", body: { message_ref } };
    const plan = planMailAnswer({ body_text: read.message?.body_text ?? null });
    if (plan.answer === "send") throw new Error("nobody asked for new mail");
    if (plan.answer === "reply" && !replies[answered++]) {
      return { path: "reply", body: { message_ref, body_content: plan.body } };
    }
    if (!replies[answered++]) return { path: "archive", body: { message_refs: [message_ref] } };
  }
  return null;
}

export interface MailReply {
  message?: { body_text?: string | null };
  messages?: { message_ref: string }[];
}

/** A reply of the gateway, which stands on a line of its own in what a shell tool gives. */
export function readReply(output: string): MailReply {
  const line = /^.*?(\{"schema_version":1,.*\})\s*$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`no reply of the mail API in: ${output}`);
  return JSON.parse(line) as MailReply;
}

function toCommand({ baseUrl }: MailRound, { path, body }: MailCall): Speech["command"] {
  const json = `'${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  const url = `${baseUrl}/v1/mail/${path}`;
  const command = Bun.which("curl")
    ? `curl -sS -X POST -H 'content-type: application/json' -d ${json} ${url}`
    : `node -e '${nodePost}' ${url} ${json}`;
  return { command, escalate: false };
}

/** For a machine without curl: node is there, the tools need it. */
const nodePost =
  'fetch(process.argv[1],{method:"POST",headers:{"content-type":"application/json"},body:process.argv[2]})' +
  ".then((reply)=>reply.text()).then(console.log)";
