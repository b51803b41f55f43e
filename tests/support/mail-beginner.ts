import { defaultMailbox } from "../../src/services/mail/address.ts";
import { initMailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { mailRootDeps } from "./mail-root.ts";

// Makes the root named by the first argument, if it is not there yet, and a mailbox in it; sends itself a
// message. Begins when the clock shows the second argument, so that several begin at once.

const [path = "", beginMs = "0"] = process.argv.slice(2);
const deps = mailRootDeps();
while (Date.now() < Number(beginMs));
initMailRoot(deps, path);
const root = openMailRoot(deps, path);
const ada = defaultMailbox("ada");
root.registrations.register({ ...ada, mode: "safe" });
const mailbox = root.openMailbox(ada);
const { message_ref } = await mailbox.send({
  to: [ada.address],
  cc: [],
  subject: "begun",
  body: "",
  attachments: [],
  notifyBlock: null,
  notifyAuth: null,
});
await mailbox.read(message_ref);
process.stdout.write("done\n");
process.exit(0);
