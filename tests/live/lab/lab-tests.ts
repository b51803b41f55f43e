import { cacheRoot, type InstalledCli, installCli, type LabTool } from "./cli-cache.ts";
import { openHeadlessSession } from "./headless-session.ts";
import { openLabSession, type SessionSettings } from "./lab-session.ts";
import { openMailSession } from "./mail-session.ts";
import { openMcpSession } from "./mcp-session.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { openSkillSession } from "./skill-session.ts";
import { describeSteps } from "./staged-steps.ts";
import { createLongPart, longHeadlessSteps, longStepsOf } from "./steps/long-steps.ts";
import { acpSteps, headlessStepsOf, mailSteps, mcpSteps, skillStepsOf, stepsOf } from "./steps.ts";
import { transports } from "./tool-facts.ts";

const shared: SessionSettings = { trusted: true };

/**
 * What `bun run live TOOL --long` shows instead: two hundred turns of an agent in its terminal, and without
 * one.
 */
function describeLongLab(tool: LabTool): void {
  describeSteps({
    name: `${tool} for two hundred turns in the lab`,
    steps: longStepsOf(),
    shared: { trusted: true, unattended: true, part: createLongPart() },
    async open(settings) {
      const cli = await install(tool);
      return openLabSession(cli, createRecorder(cli), settings);
    },
  });
  for (const transport of transports) {
    describeSteps({
      name: `headless ${tool} for two hundred turns in the lab, ${transport}`,
      steps: longHeadlessSteps(),
      shared: null,
      open: async () => openHeadlessSession(await install(tool), { transport, part: createLongPart() }),
    });
  }
}

/**
 * The lab of one tool: in its terminal, without one, and in a talk by mail. The recorded screens are kept
 * when a step failed.
 */
export function describeLab(tool: LabTool): void {
  if (process.env["SVC_LAB_LONG"] !== undefined) {
    describeLongLab(tool);
    return;
  }
  let recorder: Recorder | null = null;
  describeSteps({
    name: `${tool} in the lab`,
    steps: stepsOf(tool),
    shared,
    async open(settings) {
      const cli = await install(tool);
      recorder ??= createRecorder(cli);
      return openLabSession(cli, recorder, settings);
    },
    ended(failures) {
      const kept = failures > 0 || process.env["SVC_LAB_RECORDINGS"] !== undefined;
      if (kept) console.log(`screens of ${tool}: ${recorder?.folder}`);
      else recorder?.discard();
    },
  });
  for (const transport of transports) {
    describeSteps({
      name: transport === "native" ? `headless ${tool} in the lab` : `headless ${tool} over ACP in the lab`,
      steps: headlessStepsOf(tool, transport),
      shared: null,
      open: async () => openHeadlessSession(await install(tool), { transport }),
    });
  }
  describeSteps({
    name: `${tool} over ACP asks in the lab`,
    steps: acpSteps,
    shared: null,
    open: async () => openHeadlessSession(await install(tool), { transport: "acp", asks: true }),
  });
  describeSteps({
    name: `${tool} talks by mail in the lab`,
    steps: mailSteps,
    shared: null,
    open: async () => openMailSession(await install(tool)),
  });
  describeSteps({
    name: `${tool} calls our tools in the lab`,
    steps: mcpSteps,
    shared: null,
    open: async () => openMcpSession(await install(tool)),
  });
  describeSteps({
    name: `${tool} follows its skills in the lab`,
    steps: skillStepsOf(tool),
    shared: null,
    open: async () => openSkillSession(await install(tool)),
  });
}

function install(tool: LabTool): Promise<InstalledCli> {
  return installCli(cacheRoot(process.env), tool, (line) => process.stderr.write(`${line}\n`));
}
