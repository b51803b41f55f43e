import { resolve } from "node:path";
import { renderJson } from "../../protocol/json.ts";
import { linkGateway } from "../../services/fleet/gateway-link.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import {
  type CompiledProfile,
  matchProcesses,
  profileFor,
} from "../../services/terminal/profiles/profile.ts";
import {
  categoryOf,
  differingLabels,
  type LabelDifference,
  labelsNamed,
  observeRecording,
  type RecordedFacts,
  type RecordedMeta,
  readLabels,
} from "../../services/terminal/recorded/recorded-screen.ts";
import { scrubScreen } from "../../services/terminal/recorded/scrub-screen.ts";
import { agentPane } from "../../services/terminal/tmux/command.ts";
import { readPaneOnce } from "../../services/terminal/tmux/pane-reader.ts";
import { sleep } from "../../system/clock.ts";
import { childPath } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { openTarget } from "../agent/target.ts";
import { installedVersion } from "../checks/check.ts";
import { type CliContext, readProfiles } from "../command-line/cli-context.ts";
import { command, UsageError } from "../command-line/command.ts";
import { toSeconds } from "../command-line/flag-values.ts";
import { agentCommand } from "../command-line/remedies.ts";
import { targetFlags } from "../command-line/shared-flags.ts";

interface Recorded {
  state: string;
  folder: string;
  outcome: "recorded" | "replaced" | "unchanged";
  scrubbed: number;
  /** Fields that are read otherwise than the state's name says. */
  reads_otherwise: LabelDifference[];
}

/** Between two looks of `--for`. */
const pollIntervalMs = 200;
const stateName = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** A banner is the tool's own words. */
const versionName = /^\d[\w.+-]{0,40}$/;

export default command({
  name: "record",
  description: "record what an agent's terminal shows, for `tools check`",
  examples: [
    "svc-mgr tools record --agent-name worker --into recordings",
    "svc-mgr tools record --agent-name worker --into recordings --state busy-long-answer",
    "svc-mgr tools record --agent-name worker --into recordings --for 60 --json",
  ],
  args: {
    ...targetFlags,
    into: {
      type: "string",
      required: true,
      description: "folder of recordings; they go to TOOL/VERSION/STATE below it",
      valueHint: "DIR",
    },
    state: {
      type: "string",
      description:
        "name of the state; `ready`, `busy`, `pending`, `draft` and `decision`, alone or before a dash, also say what it is; default: what is read",
      valueHint: "NAME",
    },
    replace: { type: "boolean", description: "replace a recording of that state that shows something else" },
    for: {
      type: "string",
      description: "go on for so long and record each further state that is read, at most 3600",
      valueHint: "SECONDS",
    },
    "tool-version": {
      type: "string",
      description: "the tool's version, where neither its screen nor its gateway shows it",
      valueHint: "VERSION",
    },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    const { state, replace } = args;
    if (state !== undefined && !stateName.test(state)) {
      throw new UsageError(
        `--state must be small letters, digits and dashes, at most 63, not "${state}"`,
        path,
      );
    }
    if (args.into.trim() === "") throw new UsageError("--into is empty", path);
    if (state !== undefined && args.for !== undefined) {
      throw new UsageError("give --state for one screen, or --for for all that are read", path);
    }
    const forMs = args.for === undefined ? 0 : 1000 * toSeconds("for", args.for, 1, 3600);
    const wanted = args["tool-version"];
    if (wanted !== undefined && !versionName.test(wanted)) {
      throw new UsageError(`--tool-version must begin with a digit, as 2.1.330, not "${wanted}"`, path);
    }
    const inherited = {
      ...invocation.inherited,
      "agent-name": args["agent-name"],
      "agent-id": args["agent-id"],
    };
    const { context, agent } = await openTarget({ ...invocation, inherited });
    const profile = profileOf(context, agent, io.env);
    const { tool } = profile.data;
    const root = resolve(io.cwd, args.into);
    const signal = io.interrupted();
    const deadlineMs = context.clock.monotonicMs() + forMs;
    let version = wanted;
    const recorded: Recorded[] = [];
    do {
      const seen = await capture(context, agent, profile, io.home);
      version ??= seen.version ?? (await otherVersion(context, agent, tool)) ?? "unknown";
      const name = state ?? seen.category;
      if (!recorded.some((one) => state === undefined && one.state.replace(/-\d+$/, "") === name)) {
        recorded.push(
          store(context.files, { root, tool, version, seen, name, numbered: state === undefined, replace }),
        );
      }
      if (context.clock.monotonicMs() < deadlineMs) await sleep(context.clock, pollIntervalMs, signal);
    } while (!signal.aborted && context.clock.monotonicMs() < deadlineMs);
    return {
      json: { tool, tool_version: version ?? "unknown", recordings: recorded },
      text: recorded.map((one) => describe(io.program, one)).join("\n"),
    };
  },
});

function profileOf(
  context: CliContext,
  { manifest }: FoundAgent,
  env: Parameters<typeof readProfiles>[1],
): CompiledProfile {
  const { agent_name: name } = manifest;
  if (manifest.headless !== undefined) {
    throw new ServiceError("unsupported", `"${name}" is headless: it has no screen to record`);
  }
  const profile = profileFor(manifest.tool, readProfiles(context.system, env));
  if (profile) return profile;
  throw new ServiceError(
    "unsupported",
    `no profile describes ${manifest.tool}, the tool of "${name}"; name a file with one in SVC_TOOL_PROFILES`,
  );
}

interface Seen {
  screen: string;
  facts: RecordedFacts;
  labels: RecordedMeta["labels"];
  category: string;
  scrubbed: number;
  version: string | null;
}

/** What the agent's pane shows now, scrubbed, as it is read then. */
async function capture(
  context: CliContext,
  { manifest }: FoundAgent,
  profile: CompiledProfile,
  home: string,
): Promise<Seen> {
  const { tmux: place, agent_name: name, tmux_session_name: session } = manifest;
  const tmux = context.tmuxFor(place.socket);
  const pane = agentPane(await tmux.panes(session), place.primary_pane_id ?? null);
  const seen = pane && (await readPaneOnce({ ...context, tmux }, pane.paneId));
  if (!seen) {
    throw new ServiceError(
      "unavailable",
      `"${name}" has no pane to record; see ${agentCommand({ agentName: name })} state`,
    );
  }
  const { width, height } = seen.pane;
  const { raw, places } = scrubScreen(seen.raw, { home, width });
  const title = seen.pane.title === null ? null : scrubScreen(seen.pane.title, { home, width: 1000 }).raw;
  const up = seen.processes !== null && matchProcesses(seen.processes, profile).length > 0;
  const facts: RecordedFacts = {
    title,
    cursor_row: seen.cursor?.row ?? null,
    ...(seen.cursor?.column == null ? {} : { cursor_column: seen.cursor.column }),
    rows: height,
    process: up ? "up" : "gone",
  };
  const { labels, signals } = readLabels(observeRecording(raw, facts, profile), profile);
  const version =
    signals.toolVersion !== null && versionName.test(signals.toolVersion) ? signals.toolVersion : null;
  return { screen: raw, facts, labels, category: categoryOf(labels), scrubbed: places, version };
}

/** The version that the agent's gateway saw, else that of the installed tool. */
async function otherVersion(context: CliContext, agent: FoundAgent, tool: string): Promise<string | null> {
  const { attachIdentity } = gatewayIdentity(agent.manifest);
  const link = await linkGateway(context, { sessionRoot: agent.sessionRoot, attachIdentity });
  const response = link.state === "healthy" ? await link.client.call("terminalState", {}) : null;
  const seen = response?.kind === "ok" ? response.body.tracked_session.observed_tool_version : null;
  const installed = context.tools.find((one) => one.tool === tool);
  const version = seen ?? (installed ? await installedVersion(context, installed) : null);
  return version !== null && versionName.test(version) ? version : null;
}

/**
 * Writes the screen as `name`. The same screen again changes nothing; another one under a name that a person
 * gave is refused without `replace`, and goes to the next free number under a name that was read.
 */
function store(
  files: Files,
  wish: {
    root: string;
    tool: string;
    version: string;
    seen: Seen;
    name: string;
    numbered: boolean;
    replace: boolean;
  },
): Recorded {
  const { root, tool, version, seen, name, numbered, replace } = wish;
  for (let nth = 1; ; nth++) {
    const state = nth === 1 ? name : `${name}-${nth}`;
    const labels = labelsNamed(state, seen.labels);
    const meta: RecordedMeta = { category: categoryOf(labels), recorded_as: state, ...seen.facts, labels };
    const folder = files.contained(root, [tool, version, state], "folder");
    const texts = { "screen.ansi.txt": seen.screen, "meta.json": renderJson(meta) };
    const before = Object.keys(texts).map((file) => files.read(childPath(folder, file), { owner: "anyone" }));
    const there = before.some((text) => text !== null);
    const same = Bun.deepEquals(before, Object.values(texts));
    if (there && !same && numbered && !replace) continue;
    if (there && !same && !replace) {
      throw new ServiceError(
        "precondition_failed",
        `${folder} holds another screen; replace it with --replace, or give another --state`,
      );
    }
    if (!same) {
      files.ensureDirectory("file:recording-folder", folder);
      for (const [file, text] of Object.entries(texts)) {
        files.write("file:recording", files.contained(folder, file, "file"), text);
      }
    }
    const outcome = same ? "unchanged" : there ? "replaced" : "recorded";
    const reads_otherwise = differingLabels({ ...labels }, seen.labels);
    return { state, folder, outcome, scrubbed: seen.scrubbed, reads_otherwise };
  }
}

function describe(program: string, { state, folder, outcome, scrubbed, reads_otherwise }: Recorded): string {
  const hidden = scrubbed === 0 ? "" : `, ${scrubbed} places overwritten that looked private`;
  return [
    `${state}: ${outcome}${hidden}: ${folder}`,
    ...reads_otherwise.map((one) => `  ${one.field} reads ${one.read}, its name says ${one.recorded}`),
    ...(reads_otherwise.length > 0 ? [`  mend the profile until \`${program} tools check\` agrees`] : []),
  ].join("\n");
}
