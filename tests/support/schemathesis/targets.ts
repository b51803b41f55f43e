import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltFixture } from "../built-agent.ts";
import type { CliFixture } from "../cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../coord-server.ts";
import { type ForeignRun, runSchemathesis } from "./run.ts";

/** They end what is asked. */
const endingOperations = ["shutdown", "stopAgent", "relaunchAgent"];
/**
 * Their answers have no end, which the fuzzer reads to: it sends only what the document forbids.
 */
const streamOperations = [
  "events",
  "screenEvents",
  "screensEvents",
  "terminalFrames",
  "fleetEvents",
  "attentionEvents",
  "agentGatewayEvents",
  "aguiConnect",
  "aguiRun",
];

/**
 * Refusals of bodies that fit their schema, by their text: what the agent is, what its mailbox holds and what
 * the machine knows decides them.
 */
const stateDependent = [
  // The kind of the agent.
  /is not headless$/,
  /^this backend has no tracked terminal$/,
  /a terminal agent (?:runs|takes)|for headless agents$/,
  /^pre_notification_context_action=compact needs a terminal agent of codex$/,
  /a headless agent (?:takes|has)|^keys do not arrive exactly at /,
  /^nobody types by hand into a /,
  /invalid_execution: |^invalid_admission_policy: chat_session\.mode "new" needs |^dispatch_failed: /,
  // Other mailboxes and the mail of this one.
  /^a message reference of this mailbox begins with /,
  /^cursor is not the next_cursor of a list$/,
  /no mailbox has th(?:e|is) address/,
  /^attachment/,
  /^(?:the operator|this note of the operator)/,
  /^the message is not in that box but in |^an archived message is read: /,
  // The dialog that is open.
  /^\S+ has no answers\. /,
  // Files and time zones of this machine, programs that are installed.
  /^(?:brain_manifest_path|agent_def_dir|working_directory|tool|role_name|mailbox\.filesystem_root): /,
  /^quiet_hours\.time_zone: |^must be an IANA name that is known here/,
  // A cron expression has a grammar with ranges and steps, and some name no day: its pattern says which
  // characters it has.
  /^must be minute, hour, day of month, month, day of week, |^names no day that there is$/,
  // Two fields that differ. A schema compares a field with constants, never with another one; with these two
  // it would need a case for each of the 1,440 minutes of a day. The shape is released, and one that named a
  // duration instead would break its clients.
  /^quiet_hours: start and end are both /,
];

interface ForeignTarget {
  name: "gateway of a terminal agent" | "gateway of a headless agent" | "coordinator";
  baseUrl: string;
  /**
   * Every operation but the streams and those that end something; then the streams, with requests that are
   * forbidden.
   */
  run(options: { seed: number; seconds: number }): Promise<ForeignRun>;
}

export interface ForeignTargets extends AsyncDisposable {
  targets: ForeignTarget[];
  /** Whether the servers that were asked still run. */
  alive(): boolean;
}

/** Both executables of `dist`, serving two scripted agents with mailboxes. */
export async function openForeignTargets(dist: string): Promise<ForeignTargets> {
  const fixture = createBuiltFixture(dist);
  let coordinator: CoordServer | null = null;
  try {
    const terminal = await launch(fixture, "worker", []);
    const headless = await launch(fixture, "batch", ["--headless"]);
    coordinator = await startCoordinator(fixture);
    const target = (name: ForeignTarget["name"], baseUrl: string): ForeignTarget => ({
      name,
      baseUrl,
      async run({ seed, seconds }) {
        const here = { baseUrl, seed, stateDependent };
        const whole = await runSchemathesis({
          ...here,
          seconds,
          operations: { not: [...endingOperations, ...streamOperations] },
          parameters: { agent_ref: "worker", timeout_seconds: 0.1 },
        });
        if (whole.failure !== null) return whole;
        const streams = await runSchemathesis({
          ...here,
          seconds: Math.ceil(seconds / 6),
          operations: { only: streamOperations },
          negative: true,
          parameters: {},
        });
        return { ...whole, failure: streams.failure };
      },
    });
    const server = coordinator;
    return {
      targets: [
        target("gateway of a terminal agent", terminal.baseUrl),
        target("gateway of a headless agent", headless.baseUrl),
        target("coordinator", server.baseUrl),
      ],
      alive: () => [terminal.pid, headless.pid, server.pid].every((pid) => fixture.alive(pid)),
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]();
        await fixture[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await coordinator?.[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
    throw error;
  }
}

async function launch(fixture: CliFixture, name: string, flags: readonly string[]) {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--mailbox"];
  const { exitCode, stderr, json } = await fixture.mgr(
    ...words,
    "--mailbox-root",
    join(fixture.folder, "mail"),
    "--gateway-background",
    "--json",
  );
  if (exitCode !== 0) throw new Error(`launch of ${name}: ${stderr}`);
  const record = join(String(json()["session_root"]), "gateway", "run", "current-instance.json");
  const { port, pid } = JSON.parse(readFileSync(record, "utf8")) as { port: number; pid: number };
  return { baseUrl: `http://127.0.0.1:${port}`, pid };
}
