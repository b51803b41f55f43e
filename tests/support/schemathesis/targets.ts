import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltLab } from "../built-agent.ts";
import type { CliLab } from "../cli-lab.ts";
import { type CoordServer, startCoordinator } from "../coord-server.ts";
import { type ForeignRun, runSchemathesis } from "./run.ts";

/** Operations that are not called, each with the reason. Everything else of both documents is. */
const excluded = {
  shutdown: "ends the server that is asked",
  stopAgent: "ends the agent and the gateway behind most of the other operations",
  events: "answers without an end, which the fuzzer reads to its end",
  fleetEvents: "as events",
  agentGatewayEvents: "as events",
  aguiConnect: "as events",
  aguiRun: "as events",
} as const;

/**
 * Refusals of bodies that fit their schema, by their text: what the agent is, what its mailbox holds and what the machine
 * knows decides them.
 */
const stateDependent = [
  // The kind of the agent.
  /is not headless$/,
  /^this backend has no tracked terminal$/,
  /a terminal agent (?:runs|takes)|for headless agents$/,
  /a headless agent (?:takes|has)|^keys do not arrive exactly at /,
  /invalid_execution: |^invalid_admission_policy: chat_session\.mode "new" needs |^dispatch_failed: /,
  // Other mailboxes and the mail of this one.
  /^a message reference of this mailbox begins with /,
  /^cursor is not the next_cursor of a list$/,
  /no mailbox has th(?:e|is) address/,
  /^attachment/,
  /^(?:the operator|this note of the operator)/,
  /^the message is not in that box but in |^an archived message is read: /,
  // Files and time zones of this machine, programs that are installed.
  /^(?:brain_manifest_path|agent_def_dir|working_directory|tool|role_name|mailbox\.filesystem_root): /,
  /^quiet_hours\.time_zone: /,
  // Two fields that differ: JSON Schema cannot say it.
  /^quiet_hours: start and end are both /,
];

export interface ForeignTarget {
  name: "gateway of a terminal agent" | "gateway of a headless agent" | "coordinator";
  run(options: { seed: number; seconds: number }): Promise<ForeignRun>;
}

export interface ForeignTargets extends AsyncDisposable {
  targets: ForeignTarget[];
  /** Whether the servers that were asked still run. */
  alive(): boolean;
}

/** Both executables of `dist`, serving two scripted agents with mailboxes. */
export async function openForeignTargets(dist: string): Promise<ForeignTargets> {
  const lab = createBuiltLab(dist);
  let coordinator: CoordServer | null = null;
  try {
    const terminal = await launch(lab, "worker", []);
    const headless = await launch(lab, "batch", ["--headless"]);
    coordinator = await startCoordinator(lab);
    const target = (name: ForeignTarget["name"], baseUrl: string): ForeignTarget => ({
      name,
      run: ({ seed, seconds }) =>
        runSchemathesis({
          ...{ baseUrl, seed, seconds, stateDependent },
          exclude: Object.keys(excluded),
          parameters: { agent_ref: "worker", timeout_seconds: 0.1 },
        }),
    });
    const server = coordinator;
    return {
      targets: [
        target("gateway of a terminal agent", terminal.baseUrl),
        target("gateway of a headless agent", headless.baseUrl),
        target("coordinator", server.baseUrl),
      ],
      alive: () => [terminal.pid, headless.pid, server.pid].every((pid) => lab.alive(pid)),
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]();
        await lab[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await coordinator?.[Symbol.asyncDispose]();
    await lab[Symbol.asyncDispose]();
    throw error;
  }
}

async function launch(lab: CliLab, name: string, flags: readonly string[]) {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--mailbox"];
  const { exitCode, stderr, json } = await lab.mgr(
    ...words,
    ...["--mailbox-root", join(lab.folder, "mail"), "--gateway-background", "--json"],
  );
  if (exitCode !== 0) throw new Error(`launch of ${name}: ${stderr}`);
  const record = join(String(json()["session_root"]), "gateway", "run", "current-instance.json");
  const { port, pid } = JSON.parse(readFileSync(record, "utf8")) as { port: number; pid: number };
  return { baseUrl: `http://127.0.0.1:${port}`, pid };
}
