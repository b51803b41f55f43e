import { mailboxRootFlag } from "../agent-mailbox.ts";
import { group } from "../command.ts";
import { mailCommands } from "../mail-commands.ts";

export default group({
  name: "mail",
  description: "mail of any registered mailbox, without an agent or a gateway",
  examples: [
    "svc-mgr mail list --address me@svc.localhost",
    'svc-mgr mail send --address me@svc.localhost --to worker@svc.localhost --subject "hello" --body-content "text"',
  ],
  args: {
    address: { type: "string", description: "whose mailbox", valueHint: "ADDRESS", offers: "addresses" },
    ...mailboxRootFlag,
  },
  subCommands: mailCommands,
});
