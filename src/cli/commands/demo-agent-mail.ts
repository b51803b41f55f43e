import type { Endpoint } from "../../protocol/endpoint.ts";
import { type MailAct, type MailRound, planMailAnswer } from "../../services/demo/script.ts";
import { type CallResult, createGatewayClient } from "../../services/fleet/gateway-client.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";

/**
 * Works one round of mail as an agent should: reads each message that the prompt names, answers what is owed,
 * then archives it, one after another. `acted` is reported after the gateway agreed to each step. Resolves
 * with null, or with why the round was broken off: what was not archived by then stays in the inbox. Never
 * rejects.
 */
export async function workMailRound(deps: {
  clock: Clock;
  round: MailRound;
  acted: (act: MailAct) => void;
}): Promise<string | null> {
  const { clock, round, acted } = deps;
  const { call } = createGatewayClient({
    clock,
    baseUrl: round.baseUrl,
    token: null,
    respectProxyEnvironment: false,
  });
  try {
    for (const message_ref of round.refs) {
      const { message } = agreed(await call("mailRead", { body: { message_ref } }));
      acted({ kind: "mail_read", message_ref, sender: message.sender.address, subject: message.subject });
      const plan = planMailAnswer(message);
      if (plan.answer === "reply") {
        agreed(await call("mailReply", { body: { message_ref, body_content: plan.body } }));
        acted({ kind: "mail_replied", message_ref, body: plan.body });
      }
      if (plan.answer === "send") {
        const { to, subject, body } = plan;
        agreed(await call("mailSend", { body: { to: [to], subject, body_content: body } }));
        acted({ kind: "mail_sent", to, subject, body });
      }
      agreed(await call("mailArchive", { body: { message_refs: [message_ref] } }));
      acted({ kind: "mail_archived", message_ref });
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function agreed<E extends Endpoint>(response: CallResult<E>): Extract<CallResult<E>, { kind: "ok" }>["body"] {
  if (response.kind === "ok") return response.body;
  throw new Error(response.detail);
}
