import { group } from "../command.ts";

export default group({
  name: "overlay",
  description: "the project overlays that this user adopted: folders .svc that hold sessions and mail",
  examples: ["svc-mgr overlay status", "svc-mgr overlay adopt", "svc-mgr overlay list --json"],
  subCommands: {
    adopt: () => import("./overlay/adopt.ts").then((module) => module.default),
    status: () => import("./overlay/status.ts").then((module) => module.default),
    list: () => import("./overlay/list.ts").then((module) => module.default),
    forget: () => import("./overlay/forget.ts").then((module) => module.default),
  },
});
