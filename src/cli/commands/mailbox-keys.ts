import { openAttestations } from "../../db/mailbox/attestations.ts";
import type { MailboxKeysForgetAnswer, MailboxKeysListAnswer } from "../../protocol/mailbox-admin.ts";
import { ServiceError } from "../../system/errors.ts";
import { dropControl } from "../../system/visible.ts";
import { command } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";
import { chooseRoot, withMailRoot } from "../mail/mailbox-root.ts";

const list = command({
  name: "list",
  description: "list the keys: those of mailboxes here, and the first that each mailbox of another host used",
  examples: ["svc-mgr mailbox keys list", "svc-mgr mailbox keys list --json"],
  async run(invocation) {
    const chosen = chooseRoot(invocation);
    const rows = await withMailRoot(chosen, ({ catalog }) => openAttestations(catalog).keys());
    const keys = rows.map(({ address, publicKey, registrationId, seenAtUtc }) => ({
      address,
      public_key: publicKey,
      registration_id: registrationId,
      seen_at_utc: seenAtUtc.replace(/Z$/, "+00:00"),
    }));
    const answer: MailboxKeysListAnswer = { ...chosen.heading, keys };
    const cells = keys.map((one) => [
      dropControl(one.address),
      one.registration_id === null ? "another host" : "this folder",
      one.seen_at_utc,
      dropControl(one.public_key),
    ]);
    return { json: answer, text: renderTable(["MAILBOX", "OF", "SINCE", "PUBLIC KEY"], cells) };
  },
});

const forget = command({
  name: "forget",
  description:
    "remove the key of a mailbox on another host that has a new one; the next message from it brings that",
  examples: ["svc-mgr mailbox keys forget --address worker@build-2"],
  args: {
    address: {
      type: "string",
      required: true,
      description: "the mailbox, as its mail names it",
      valueHint: "NAME@HOST",
    },
  },
  async run(invocation) {
    const { address } = invocation.args;
    const chosen = chooseRoot(invocation);
    const count = await withMailRoot(chosen, ({ catalog }) =>
      openAttestations(catalog).forgetForeign(address),
    );
    if (count === 0) {
      throw new ServiceError(
        "not_found",
        `no mailbox of another host with this address has a key here; ${invocation.io.program} mailbox keys list names them`,
      );
    }
    const answer: MailboxKeysForgetAnswer = { ...chosen.heading, ok: true, address, forgotten_count: count };
    return { json: answer, text: `forgot the key of ${dropControl(address)}` };
  },
});

export const keyCommands = { list, forget };
