import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { randomFrom } from "./load.ts";
import { mailRootDeps } from "./mail-root.ts";

// Sends, reads and archives among all mailboxes of a root, as the dice fall, for so many seconds:
// `mail-sender.ts ROOT SECONDS SEED`. Prints a line of JSON for each thing that was answered.

const [path = "", seconds = "1", seed = "1"] = process.argv.slice(2);
const root = openMailRoot(mailRootDeps(), path);
const random = randomFrom(Number(seed));
const bindings = root.registrations
  .list({ status: "active" })
  .map(({ address, owner_principal_id }) => ({ address, principalId: owner_principal_id }));
const mailboxes = bindings.map((binding) => root.openMailbox(binding));
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

/** However slow the machine is. */
const fewest = 20;
const end = performance.now() + Number(seconds) * 1000;
for (let count = 1; count <= fewest || performance.now() < end; count++) {
  const mailbox = pick(mailboxes);
  const to = [...new Set(Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(bindings).address))];
  const subject = `${seed}/${count}`;
  const { message_ref } = await mailbox.send({ to, cc: [], subject, body: `body of ${subject}`, ...plain });
  tell({ sent: message_ref, to });
  if (random() < 0.3) {
    const reader = pick(mailboxes);
    const page = await reader.list({
      box: "inbox",
      readState: "any",
      answeredState: "any",
      archived: null,
      limit: 20,
      since: null,
      includeBody: false,
      cursor: null,
      query: null,
    });
    const found = page.messages[Math.floor(random() * page.messages.length)];
    if (!found) continue;
    if (random() < 0.5) {
      await reader.read(found.message_ref);
      tell({ read: found.message_ref, at: reader.address });
    } else {
      await reader.archive([found.message_ref]);
      tell({ archived: found.message_ref, at: reader.address });
    }
  }
}
for (const mailbox of mailboxes) mailbox.close();
root.close();
process.exit(0);
