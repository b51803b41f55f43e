import { group } from "../../command.ts";

export default group({
  name: "accounts",
  description: "the registered mailboxes, the present and the former",
  examples: ["svc-mgr mailbox accounts list", "svc-mgr mailbox accounts get --address ann@svc.localhost"],
  subCommands: {
    list: () => import("./accounts-list.ts").then((module) => module.default),
    get: () => import("./accounts-get.ts").then((module) => module.default),
  },
});
