import { skills } from "../../services/skills/catalog.ts";
import { skillTools } from "../../services/skills/home.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";

export default command({
  name: "list",
  description: "the skills that come with svc, and the tools they can be installed for",
  examples: ["svc-mgr system-skills list"],
  async run() {
    const rows = skills.map(({ name, text }) => [name, descriptionOf(text)]);
    return {
      json: {
        skills: rows.map(([name, description]) => ({ name, description })),
        tools: skillTools,
      },
      text: `${renderTable(["SKILL", "FOR"], rows)}\n\ntools: ${skillTools.join(", ")}`,
    };
  },
});

function descriptionOf(text: string): string {
  return /^description: (.*)$/m.exec(text)?.[1] ?? "";
}
