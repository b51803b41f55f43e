import { group } from "../../command.ts";

export default group({
  name: "messages",
  description: "the mail of one mailbox by its place on disk; who read what is the mailbox's own business",
  examples: ["svc-mgr mailbox messages list --address ann@svc.localhost"],
  subCommands: {
    list: () => import("./messages-list.ts").then((module) => module.default),
    get: () => import("./messages-get.ts").then((module) => module.default),
    clear: () => import("./messages-clear.ts").then((module) => module.default),
  },
});
