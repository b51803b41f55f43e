import { defaultCoordinatorPort } from "../../services/fleet/coordinator-files.ts";
import { allProfiles } from "../../services/terminal/profile.ts";
import { createSystem } from "../../system/system.ts";
import { checkGatewayPorts, checkOrphans, checkRecords, checkTrust } from "../checks/agents.ts";
import { type Check, marks, ok } from "../checks/check.ts";
import { checkDeliveries } from "../checks/deliveries.ts";
import {
  checkCoordinatorPort,
  checkCoordinators,
  checkFolders,
  checkPath,
  checkTmux,
} from "../checks/machine.ts";
import { checkAgents, checkSignals } from "../checks/sessions.ts";
import { checkTool } from "../checks/tools.ts";
import { openCliContext, readProfiles } from "../cli-context.ts";
import { command, type Paint } from "../command.ts";
import { renderTable } from "../format.ts";
import { programFolder } from "../self-command.ts";

export default command({
  name: "doctor",
  description: "say what this machine lacks and how to get it, and which agents need a hand",
  examples: ["svc-mgr doctor", "svc-mgr doctor --fix", "svc-mgr doctor --json"],
  args: {
    fix: {
      type: "boolean",
      description: "clean up records of agents that are gone, and find agents again that lost theirs",
    },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited, createSystem(), { diagnosing: true });
    const profiles = allProfiles(readProfiles(context.system, io.env));
    const proved = new Map(profiles.map((profile) => [profile.tool, profile.proved_versions]));
    const terminals = context.tools.filter(({ acp }) => acp === undefined);
    const tools = terminals.map((tool) => checkTool(context, tool, proved.get(tool.tool) ?? []));
    const checks = [
      await checkTmux(context),
      ok("bun", Bun.version),
      checkPath(context, programFolder()),
      ...checkFolders(context),
      checkTrust(context),
      await checkRecords(context, args.fix),
      await checkOrphans(context, args.fix),
      ...(await checkAgents(context)),
      checkSignals(context),
      checkGatewayPorts(context),
      await checkCoordinatorPort(context, defaultCoordinatorPort),
      ...(await checkCoordinators(context)),
      ...checkDeliveries(context, io),
      ...(await Promise.all(tools)),
    ];
    const healthy = checks.every(({ verdict }) => verdict !== "missing" && verdict !== "damaged");
    return {
      json: { healthy, checks },
      text: toText(checks, healthy, context.registry.list().records.length > 0),
      colour: colourMarks,
      exitCode: healthy ? 0 : 1,
    };
  },
});

const colours: Readonly<Record<string, "green" | "red" | "yellow">> = {
  ok: "green",
  DAMAGED: "red",
  MISSING: "red",
  look: "yellow",
};

function colourMarks(text: string, paint: Paint): string {
  return text.replace(/^(?:ok|DAMAGED|MISSING|look)\b/gm, (mark) => paint(colours[mark] ?? "bold", mark));
}

function toText(checks: readonly Check[], healthy: boolean, hasAgents: boolean): string {
  const rows = checks.map((check) => [marks[check.verdict], check.name, check.detail]);
  const remedies = checks.flatMap((check) =>
    check.remedy === null ? [] : [`  ${check.name}: ${check.remedy}`],
  );
  return [
    renderTable(["", "CHECK", "FOUND"], rows),
    ...(remedies.length > 0 ? ["", "What to do:", ...remedies] : []),
    "",
    healthy
      ? `Nothing needed is missing. ${hasAgents ? "See your agents with: svc-mgr agents list" : "Begin with: svc-mgr agents launch --tool demo --agent-name first"}`
      : "Something needed is missing or damaged.",
  ].join("\n");
}
