import { group } from "../command.ts";
import { mailboxRootFlags } from "./mailbox/root.ts";

export default group({
  name: "mailbox",
  description: "the mailboxes of a folder: who has one, and their upkeep",
  examples: [
    "svc-mgr mailbox init",
    "svc-mgr mailbox register --address ann@svc.localhost --principal-id SVC-ann",
    "svc-mgr mailbox status --mailbox-root /srv/mail",
  ],
  args: mailboxRootFlags,
  subCommands: {
    init: () => import("./mailbox/init.ts").then((module) => module.default),
    status: () => import("./mailbox/status.ts").then((module) => module.default),
    register: () => import("./mailbox/register.ts").then((module) => module.default),
    unregister: () => import("./mailbox/unregister.ts").then((module) => module.default),
    repair: () => import("./mailbox/repair.ts").then((module) => module.default),
    cleanup: () => import("./mailbox/cleanup.ts").then((module) => module.default),
    "clear-messages": () => import("./mailbox/clear-messages.ts").then((module) => module.default),
    export: () => import("./mailbox/export.ts").then((module) => module.default),
    accounts: () => import("./mailbox/accounts.ts").then((module) => module.default),
    messages: () => import("./mailbox/messages.ts").then((module) => module.default),
  },
});
