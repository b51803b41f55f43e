import type { Mail, MailDraft } from "../../src/services/mail/mailbox.ts";
import type { GatewayBundle } from "./gateway-bundle.ts";

/** A message from `other@svc.localhost` to the agent of a bundle, as the agent's mailbox holds it. */
export async function deliverTo(
  { mail }: Pick<GatewayBundle, "mail">,
  draft: Partial<MailDraft> = {},
): Promise<Mail> {
  const { message_ref } = await mail.open("other@svc.localhost").send({
    to: ["worker@svc.localhost"],
    cc: [],
    subject: "hello",
    body: "text",
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
    ...draft,
  });
  return mail.open("worker@svc.localhost").peek(message_ref);
}
