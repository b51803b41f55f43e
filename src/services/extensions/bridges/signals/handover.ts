import { join } from "node:path";
import { renderJson } from "../../../../protocol/json.ts";
import type { Files } from "../../../../system/files.ts";
import type { Processes } from "../../../../system/processes.ts";
import { quoteShell } from "../../../../system/shell-word.ts";
import { isOlder } from "../../../../system/versions.ts";
import type { PlannedSignals, StartingTool } from "../../../sessions/tool-signals.ts";
import { launchVersionTimeoutMs, readToolVersion } from "../../../sessions/tool-version.ts";
import { signalPaths } from "./spool-source.ts";
import { claudeEvents, claudeEventsSince } from "./tool-events.ts";

/**
 * The plugin that opencode loads from the session's folder. It runs inside the tool, so it writes the spool's
 * lines itself: the same record as the hook command, with its limits and order of fields. It throws nothing.
 */
export function opencodePlugin(spool: string): string {
  return `import { createHash, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

const spool = ${JSON.stringify(spool)};
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function append(line) {
  const handle = openSync(spool, flags, 0o600);
  try {
    const facts = fstatSync(handle);
    const own = facts.isFile() && (facts.mode & 0o022) === 0;
    if (own && facts.size < 8 * 1024 * 1024) writeSync(handle, line);
  } finally {
    closeSync(handle);
  }
}

function report(kind, facts) {
  try {
    const prompt = facts.prompt ?? null;
    const cut = (text, length) => (typeof text === "string" ? text.slice(0, length).toWellFormed() : null);
    const record = {
      schema_version: 1,
      id: randomUUID(),
      tool: "opencode",
      kind,
      at_ms: Date.now(),
      session_id: facts.session ?? null,
      turn_id: facts.turn ?? null,
      prompt: cut(prompt, 8000),
      prompt_sha256: prompt === null ? null : createHash("sha256").update(prompt).digest("hex"),
      message: cut(facts.message, 2000),
      action: cut(facts.action, 200),
      transcript_path: null,
    };
    append("\\n" + JSON.stringify(record) + "\\n");
  } catch {}
}

export const SvcSignals = async () => {
  const helpers = new Set();
  const turns = new Map();
  const failures = new Map();
  return {
    event: async ({ event }) => {
      const facts = event.properties ?? {};
      const session = facts.sessionID ?? facts.info?.id;
      if (event.type === "session.created" || event.type === "session.updated") {
        if (facts.info?.parentID) helpers.add(facts.info.id);
        if (event.type === "session.created" && !facts.info?.parentID) report("session_started", { session });
        return;
      }
      if (helpers.has(session)) return;
      const turn = turns.get(session);
      if (event.type === "session.error") {
        failures.set(session, String(facts.error?.data?.message ?? facts.error?.name ?? "error"));
      } else if (event.type === "session.idle" && turn !== undefined) {
        const failure = failures.get(session);
        failures.delete(session);
        turns.delete(session);
        if (failure === undefined) report("turn_ended", { session, turn });
        else report("turn_failed", { session, turn, message: failure });
      } else if (event.type === "permission.asked" || event.type === "permission.updated") {
        const patterns = Array.isArray(facts.patterns) ? facts.patterns.join("\\n") : null;
        const message = facts.title ?? patterns;
        report("question_asked", { session, turn, action: facts.permission ?? facts.type, message });
      }
    },
    "chat.message": async (input, output) => {
      if (helpers.has(input.sessionID)) return;
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      // After a failure it says twice that it is idle: the second is no end of a turn.
      turns.set(input.sessionID, output.message?.id ?? null);
      const prompt = texts.map((part) => part.text).join("\\n");
      report("prompt_submitted", { session: input.sessionID, turn: output.message?.id, prompt });
    },
    "tool.execute.before": async (input) => {
      if (helpers.has(input.sessionID)) return;
      report("tool_started", { session: input.sessionID, turn: turns.get(input.sessionID), action: input.tool });
    },
    "tool.execute.after": async (input) => {
      if (helpers.has(input.sessionID)) return;
      report("tool_finished", { session: input.sessionID, turn: turns.get(input.sessionID), action: input.tool });
    },
  };
};
`;
}

type Handover = PlannedSignals["handover"];

/** What a tool is given beside the folder of its reports. */
type Given = Omit<Handover, "folder">;

/** `refusal`: why the tool gets nothing, as a clause for people. */
type HandoverPlan = { handover: Given; refusal: null } | { handover: null; refusal: string };

export interface HandoverFacts extends Pick<StartingTool, "tool" | "sessionRoot" | "args" | "env"> {
  /** How this program is started as the hook command, without tool and spool. */
  hookCommand: readonly string[];
  /** What the user's own configuration of the tool says, or null where there is none. Codex: config.toml. */
  userConfiguration: string | null;
  /** What the tool's executable says its version is; null when it does not, and where it does not matter. */
  version: string | null;
}

/**
 * How a tool is asked for reports without a change to its user's or project's files. Where that would replace
 * what the user has set, the tool gets nothing. Pure. Measured with the versions in tests/signals.
 */
export function planHandover(facts: HandoverFacts): HandoverPlan {
  const plan = Object.hasOwn(plans, facts.tool) ? plans[facts.tool] : undefined;
  return plan?.(facts) ?? refused(`no way is known in which ${facts.tool} reports`);
}

const plans: Readonly<Record<string, (facts: HandoverFacts) => HandoverPlan>> = {
  claude,
  codex,
  opencode,
  demo,
  gemini,
};

/**
 * Hooks of all its settings files run beside ours. Of two `--settings` claude 2.1.330 reads the last alone.
 */
function claude(facts: HandoverFacts): HandoverPlan {
  if (hasFlag(facts.args, "--settings"))
    return refused("its arguments have --settings, of which it reads one only");
  if (hasFlag(facts.args, "--bare")) return refused("with --bare it runs no hooks");
  const { claudeSettings: path } = signalPaths(facts.sessionRoot);
  // Whatever becomes of our executable, the tool sees a hook that succeeded.
  const command = `${hookWords(facts).map(quoteShell).join(" ")} 2>/dev/null || :`;
  const hooks = Object.fromEntries(
    Object.keys(claudeEvents).flatMap((event) => {
      const since = claudeEventsSince[event];
      if (since !== undefined && facts.version !== null && isOlder(facts.version, since)) return [];
      // It waits for none of them before it goes on, except for the last, which its end would cut off. A
      // starved machine takes more than 5 s to start one.
      const waits = event === "SessionEnd";
      const hook = { type: "command", command, timeout: waits ? 5 : 60, async: !waits };
      return [[event, [{ matcher: "*", hooks: [hook] }]]];
    }),
  );
  return given({ args: ["--settings", path], files: { [path]: renderJson({ hooks }) } });
}

/** `-c notify` replaces the one that the user has set. */
function codex(facts: HandoverFacts): HandoverPlan {
  const assigned = facts.args.some((arg) => /^(?:-c|--config=)?\s*notify\s*=/.test(arg));
  if (assigned) return refused("its arguments set notify, which ours would replace");
  const configured = facts.userConfiguration === null ? false : hasNotify(facts.userConfiguration);
  if (configured === null) return refused("its config.toml cannot be read");
  if (configured) return refused("its config.toml sets notify, which ours would replace");
  return given({ args: ["-c", `notify=${JSON.stringify(hookWords(facts))}`] });
}

/**
 * Its lists of plugins are joined: the user's own, the project's, and that of the file that OPENCODE_CONFIG
 * names.
 */
function opencode(facts: HandoverFacts): HandoverPlan {
  const { spool, opencodePlugin: plugin, opencodeConfig: config } = signalPaths(facts.sessionRoot);
  const content = renderJson({ plugin: [`file://${plugin}`] });
  const files = { [plugin]: opencodePlugin(spool) };
  if (!facts.env["OPENCODE_CONFIG"]) {
    return given({ env: { OPENCODE_CONFIG: config }, files: { ...files, [config]: content } });
  }
  if (facts.env["OPENCODE_CONFIG_CONTENT"]) {
    return refused("OPENCODE_CONFIG and OPENCODE_CONFIG_CONTENT are both set already");
  }
  return given({ env: { OPENCODE_CONFIG_CONTENT: content }, files });
}

/** Tests ask the scripted agent for reports with a flag. */
function demo(facts: HandoverFacts): HandoverPlan {
  if (!facts.args.includes("--signals"))
    return refused("the scripted agent reports with `-- --signals` only");
  return given({ env: { SVC_DEMO_HOOK: JSON.stringify(hookWords(facts)) } });
}

/**
 * gemini 0.61.0 reads hooks from the user's files, the project's, and files of root in folders of root: no
 * file of ours.
 */
function gemini(): HandoverPlan {
  return refused("it takes hooks from its user's and its project's files only, which svc does not change");
}

type HandoverSource = Pick<HandoverFacts, "tool" | "env">;

const refused = (refusal: string): HandoverPlan => ({ handover: null, refusal });

const given = (handover: Partial<Given>): HandoverPlan => ({
  handover: { args: [], env: {}, files: {}, ...handover },
  refusal: null,
});

const hookWords = ({ hookCommand, tool, sessionRoot }: HandoverFacts) => [
  ...hookCommand,
  tool,
  signalPaths(sessionRoot).spool,
];

const hasFlag = (args: readonly string[], flag: string) =>
  args.some((arg) => arg === flag || arg.startsWith(`${flag}=`));

/** Whether a config.toml sets `notify`, at its top or in a profile; null when it is no TOML. */
function hasNotify(text: string): boolean | null {
  try {
    const config = Bun.TOML.parse(text) as Record<string, unknown>;
    const profiles = Object.values((config["profiles"] ?? {}) as Record<string, unknown>);
    return [config, ...profiles].some(
      (part) => part !== null && typeof part === "object" && "notify" in part,
    );
  } catch {
    return null;
  }
}

/**
 * The plan of a start, with the user's configuration and the version of the tool read for it; nothing is given
 * where signals are declined.
 */
export async function planSignals(
  system: { files: Pick<Files, "read">; processes: Pick<Processes, "run"> },
  hookCommand: readonly string[],
  starting: StartingTool,
): Promise<PlannedSignals> {
  const { declined, executable, ...tool } = starting;
  const plan = declined
    ? refused("--no-signals")
    : planHandover({
        ...tool,
        hookCommand,
        userConfiguration: readUserConfiguration(system.files, tool),
        version: await reportingVersion(system.processes, starting),
      });
  const handover = plan.handover ?? { args: [], env: {}, files: {} };
  return {
    handover: { ...handover, folder: signalPaths(tool.sessionRoot).root },
    record: { given: plan.handover !== null, declined, why: plan.refusal },
  };
}

/**
 * The version of a tool whose reports depend on it; null for any other, and when it does not say it in time.
 */
async function reportingVersion(
  processes: Pick<Processes, "run">,
  { tool, executable: path, env }: StartingTool,
): Promise<string | null> {
  if (tool !== "claude") return null;
  const found = await readToolVersion(processes, { path, env, timeoutMs: launchVersionTimeoutMs });
  return "version" in found ? found.version : null;
}

function readUserConfiguration(files: Pick<Files, "read">, { tool, env }: HandoverSource): string | null {
  const home = env["CODEX_HOME"] || join(env["HOME"] || "/", ".codex");
  if (tool !== "codex") return null;
  try {
    return files.read(join(home, "config.toml"), { owner: "anyone" });
  } catch {
    // Not TOML.
    return "=";
  }
}
