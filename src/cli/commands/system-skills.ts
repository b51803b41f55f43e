import { group } from "../command.ts";

export default group({
  name: "system-skills",
  description: "the skills by which agents work with svc",
  examples: ["svc-mgr system-skills install --tool claude"],
  subCommands: {
    install: () => import("./system-skills-install.ts").then((module) => module.default),
    uninstall: () => import("./system-skills-uninstall.ts").then((module) => module.default),
    list: () => import("./system-skills-list.ts").then((module) => module.default),
  },
});
