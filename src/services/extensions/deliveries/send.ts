import type { DeliveryBody, MailTarget } from "../../../protocol/delivery.ts";
import { toTimestamp } from "../../../system/clock.ts";
import { assertNever, messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { System } from "../../../system/system.ts";
import { visibleLine } from "../../../system/visible.ts";
import { createJmapClient } from "../../mail/jmap/client.ts";
import { createSubmission } from "../../mail/jmap/submission.ts";
import type { Environment } from "../../sessions/roots.ts";
import { runCommand } from "./command.ts";
import { sendNtfy, sendWebhook } from "./http.ts";
import { type SendResult, type ToSend, toLine } from "./message.ts";
import { type NamedRule, readSecret } from "./rules.ts";

export type Send = (rule: NamedRule, delivery: ToSend) => Promise<SendResult>;

export interface SendDeps extends Pick<System, "clock" | "network" | "processes" | "ids"> {
  files: Files;
  env: Environment;
  home: string;
  /** Secret files count from its folder. */
  rulesFile: string;
}

const masked = "********";

/** One attempt at the target of a rule. Secrets are read each time. Never rejects. */
export function createSend(deps: SendDeps): Send {
  async function attempt(
    rule: NamedRule,
    delivery: ToSend,
    secret: (name: string) => string,
  ): Promise<SendResult> {
    const body: DeliveryBody = {
      type: delivery.test ? "attention.test" : "attention",
      timestamp: toTimestamp(delivery.createdMs),
      data: { delivery_id: delivery.deliveryId, rule: rule.name, items: delivery.items },
    };
    switch (rule.kind) {
      case "command":
        return runCommand(deps, rule.target, body);
      case "webhook":
        return sendWebhook(deps, rule.target, secret(rule.target.secret_file), body);
      case "ntfy": {
        const { token_file } = rule.target;
        return sendNtfy(deps, rule.target, token_file === undefined ? null : secret(token_file), body);
      }
      case "mail":
        return sendMail(deps, rule.target, secret(rule.target.password_file), body);
      default:
        return assertNever(rule);
    }
  }

  return async (rule, delivery) => {
    const secrets: string[] = [];
    const secret = (name: string) => {
      const text = readSecret(deps.files, deps.rulesFile, name);
      secrets.push(text);
      return text;
    };
    try {
      const result = await attempt(rule, delivery, secret);
      // A server may send back what it was given.
      const answer = secrets.reduce((text, one) => text.replaceAll(one, masked), result.answer);
      return { ...result, answer };
    } catch (error) {
      // Ours are written for callers; what else is thrown may hold an address.
      const why = error instanceof ServiceError ? messageOf(error) : "an internal error";
      return { ok: false, error: why, askedMs: null, forGood: false, answer: "" };
    }
  };
}

/** By a message id made of the delivery's: what an earlier process sent is not sent again. */
async function sendMail(
  { clock, ids }: SendDeps,
  { to, from, jmap_url: url, login_identity: identity = from }: MailTarget,
  password: string,
  body: DeliveryBody,
): Promise<SendResult> {
  const client = createJmapClient({ clock, url, login: () => ({ identity, password }) });
  const { items, delivery_id: id, rule } = body.data;
  const [first] = items;
  const subject =
    items.length === 1 && first ? visibleLine(first.summary) : `${items.length} things wait for you`;
  const lines = items.map((item) => toLine(item));
  const text = `${lines.join("\n\n")}\n\n-- \ndelivery ${id} of the rule ${rule}\n`;
  const message = { to: [to], cc: [], subject, body: text, attachments: [], inReplyTo: [], references: [] };
  const messageId = `${id}@${from.slice(from.indexOf("@") + 1)}`;
  await createSubmission({ client, ids, address: from }).send(message, undefined, messageId);
  return { ok: true, detail: "the mail server took it", answer: "" };
}
