import { group } from "../command.ts";

export default group({
  name: "tools",
  description: "the agent CLIs that can be driven, and how their screens are read",
  examples: ["svc-mgr tools list", "svc-mgr tools explain --tool claude --screen recording.ansi.txt"],
  subCommands: {
    list: () => import("./tools-list.ts").then((module) => module.default),
    show: () => import("./tools-show.ts").then((module) => module.default),
    explain: () => import("./tools-explain.ts").then((module) => module.default),
  },
});
