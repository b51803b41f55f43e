import { openDeliveriesForReading } from "../../db/coordinator/delivery-listing.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { deliveryPaths } from "../../services/extensions/deliveries/delivery.ts";
import { rulesProblem } from "../../services/extensions/deliveries/rules.ts";
import {
  defaultCoordinatorPort,
  isHeld,
  runningCoordinators,
} from "../../services/fleet/coordinator-files.ts";
import { defaultRulesFile, stateRootOf } from "../../services/sessions/roots.ts";
import { allProfiles } from "../../services/terminal/profiles/profile.ts";
import { toTimestamp } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { createSystem } from "../../system/system.ts";
import { checkGatewayPorts, checkOrphans, checkRecords, checkStopped, checkTrust } from "../checks/agents.ts";
import { type Check, checkTool, marks, ok, warning } from "../checks/check.ts";
import { checkHosts, checkOutboxes } from "../checks/hosts.ts";
import {
  checkCoordinatorPort,
  checkCoordinators,
  checkFolders,
  checkPath,
  checkTmux,
} from "../checks/machine.ts";
import { checkAgents, checkSandboxes, checkSignals } from "../checks/sessions.ts";
import { type CliContext, openCliContext, readProfiles } from "../command-line/cli-context.ts";
import { type CliIo, command, type Paint } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";
import { toSentence } from "../command-line/remedies.ts";
import { programFolder } from "../command-line/version.ts";

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
    const places = [
      await checkTmux(context),
      ok("bun", Bun.version),
      checkPath(context, programFolder()),
      ...checkFolders(context),
      checkTrust(context, io),
      await checkRecords(context, args.fix, io),
      await checkOrphans(context, args.fix, io.advise),
    ];
    // After the records were cleaned up.
    const agents = await checkAgents(context, io.advise);
    const checks = [
      ...places,
      ...agents.checks,
      ...checkStopped(context, io.advise),
      checkSignals(context),
      checkGatewayPorts(context),
      await checkCoordinatorPort(context, defaultCoordinatorPort),
      ...(await checkCoordinators(context)),
      ...(await checkSandboxes(context)),
      ...(await checkHosts(context, io)),
      ...checkOutboxes(context),
      ...checkDeliveries(context, io),
      ...(await Promise.all(tools)),
    ];
    const healthy = checks.every(({ verdict }) => verdict !== "missing" && verdict !== "damaged");
    return {
      json: { healthy, agents_without_work: agents.idle, checks },
      text: toText(checks, {
        healthy,
        idle: agents.idle,
        hasAgents: context.registry.list().records.length > 0,
        advise: io.advise,
      }),
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

function toText(
  checks: readonly Check[],
  facts: { healthy: boolean; idle: readonly string[]; hasAgents: boolean; advise: Advise },
): string {
  const rows = checks.map((check) => [marks[check.verdict], check.name, check.detail]);
  const remedies = checks.flatMap((check) =>
    check.remedy === null ? [] : [`  ${check.name}: ${check.remedy}`],
  );
  return [
    renderTable(["", "CHECK", "FOUND"], rows),
    ...(remedies.length > 0 ? ["", "What to do:", ...remedies] : []),
    "",
    conclude(facts),
  ].join("\n");
}

function conclude({
  healthy,
  idle,
  hasAgents,
  advise,
}: {
  healthy: boolean;
  idle: readonly string[];
  hasAgents: boolean;
  advise: Advise;
}): string {
  if (!healthy) return "Something needed is missing or damaged.";
  if (idle.length > 0) {
    const agents = idle.length === 1 ? "1 agent takes" : `${idle.length} agents take`;
    return `This machine lacks nothing, but ${agents} no work: ${idle.join(", ")}. The lines above say what to do.`;
  }
  const next = hasAgents
    ? toSentence(advise({ code: "list_running" }))
    : `Begin with: ${advise({ code: "launch_demo" }).command}`;
  return `Nothing needed is missing. ${next}`;
}

const name = "deliveries";
/** Attempts that fail for less are those of a target that restarts. */
const failingMs = 3_600_000;
const recentMs = 24 * 3_600_000;

/**
 * The rule file, who would deliver, and deliveries that fail for long. Nothing where this user delivers
 * nothing.
 */
export function checkDeliveries(context: CliContext, io: Pick<CliIo, "env" | "home" | "program">): Check[] {
  const { files, roots, clock } = context;
  const rulesFile = defaultRulesFile(io.env, io.home);
  const paths = deliveryPaths(stateRootOf(io.env, io.home), roots.registryRoot);
  const found: Check[] = [];
  if (files.exists(rulesFile)) {
    const problem = rulesProblem(files, rulesFile);
    if (problem !== null) {
      found.push(warning(name, `nothing is delivered: ${problem}`, `mend it: ${io.program} attention rules`));
    } else if (!isHeld(files, context.locks, paths.lock)) {
      const isServed = runningCoordinators(context).length > 0;
      const why = isServed
        ? "no coordination server that runs has read the rules"
        : "no coordination server runs";
      const remedy = isServed ? "end svc-coord and start it again: svc-coord serve" : "svc-coord serve";
      found.push(warning(name, `nothing is delivered: ${why}: ${rulesFile}`, remedy));
    }
  }
  if (files.exists(paths.store)) {
    try {
      const store = openDeliveriesForReading(paths.store);
      const nowMs = clock.nowMs();
      const troubles = store.troubles({ pendingMs: nowMs - failingMs, givenUpMs: nowMs - recentMs });
      store.close();
      for (const { rule, pending, givenUp, sinceMs, lastError } of troubles) {
        const what = `rule "${rule}": ${pending} wait since ${toTimestamp(sinceMs)}, ${givenUp} given up`;
        const remedy = `${io.program} attention deliver-test ${rule}`;
        found.push(warning(name, `${what}: ${lastError ?? "no reason known"}`, remedy));
      }
    } catch (error) {
      const remedy = `move it away; what waits is then sent again: ${paths.store}`;
      found.push(warning(name, `their file cannot be read: ${messageOf(error)}`, remedy));
    }
  }
  return found.length > 0 || !files.exists(rulesFile) ? found : [ok(name, rulesFile)];
}
