import { resolve } from "node:path";
import { defaultTimings } from "../../protocol/terminal.ts";
import { explainRecording } from "../../services/terminal/detect/explain.ts";
import { builtInProfiles } from "../../services/terminal/profiles/built-in.ts";
import {
  allProfiles,
  type CompiledProfile,
  compileProfile,
  type ProfileSet,
  parseProfiles,
  profileFor,
} from "../../services/terminal/profiles/profile.ts";
import {
  differingLabels,
  type LabelDifference,
  observeRecording,
  parseMeta,
  readLabels,
  type StoredRecording,
} from "../../services/terminal/recorded/recorded-screen.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createSystem } from "../../system/system.ts";
import { recordingsBelow, shippedRecordings } from "../agent/shipped-recordings.ts";
import { renderExplanation } from "../agent/terminal-text.ts";
import { readProfiles, trustingSystem } from "../command-line/cli-context.ts";
import { command, UsageError } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";
import { readFileFlag, readStdin, toWholeNumber } from "../command-line/flag-values.ts";
import { renderTable } from "../command-line/format.ts";
import record from "./tools-record.ts";

/**
 * The profile of a tool that was named on the command line. Throws `invalid_request` that lists those there
 * are.
 */
function chooseProfile(tool: string, overrides: ProfileSet): CompiledProfile {
  const profile = profileFor(tool, overrides);
  if (profile) return profile;
  const known = allProfiles(overrides).map((one) => one.tool);
  throw new ServiceError("invalid_request", `no profile describes "${tool}"; known are: ${known.join(", ")}`);
}

const list = command({
  name: "list",
  description: "the tool profiles, with the versions of the tools they were proved on",
  examples: ["svc-mgr tools list", "SVC_TOOL_PROFILES=/path/profiles.json svc-mgr tools list --json"],
  async run({ io }) {
    const overrides = readProfiles(trustingSystem(io, createSystem()).system, io.env);
    const rows = allProfiles(overrides).map((profile) => ({
      tool: profile.tool,
      profile_version: profile.profile_version,
      proved_versions: profile.proved_versions,
      tested: profile.tested,
      source: builtInProfiles.includes(profile) ? "built in" : "SVC_TOOL_PROFILES",
      executable: profile.executable,
    }));
    return {
      json: { tools: rows },
      text: renderTable(
        ["TOOL", "PROFILE", "PROVED ON", "SOURCE"],
        rows.map((row) => [
          row.tool,
          row.profile_version,
          row.tested ? row.proved_versions.join(", ") : "untested",
          row.source,
        ]),
      ),
    };
  },
});

const show = command({
  name: "show",
  description: "print a tool's profile as a file of profiles, to begin your own",
  examples: ["svc-mgr tools show --tool codex > profiles.json"],
  args: {
    tool: { type: "string", required: true, description: "whose profile", valueHint: "TOOL" },
  },
  async run({ args, io }) {
    const { data } = chooseProfile(
      args.tool,
      readProfiles(trustingSystem(io, createSystem()).system, io.env),
    );
    const file = { schema_version: 1, profiles: [data] };
    // In the order of the schema, which is the order in which a person fills it in.
    return { json: file, text: JSON.stringify(file, null, 2) };
  },
});

const explain = command({
  name: "explain",
  description: "read a recorded screen as a gateway would, and say which rules made the verdict",
  examples: [
    "svc-mgr tools explain --tool claude --screen recording.ansi.txt",
    "tmux capture-pane -p -e -t =my-session: | svc-mgr tools explain --tool codex --screen - --json",
  ],
  args: {
    tool: {
      type: "string",
      required: true,
      description: "whose screen it is",
      valueHint: "TOOL",
      offers: "tools",
    },
    screen: {
      type: "string",
      required: true,
      description: "what `tmux capture-pane -p -e` printed; - reads standard input",
      valueHint: "FILE",
    },
    title: { type: "string", description: "the pane's title at that moment", valueHint: "TEXT" },
    "cursor-row": { type: "string", description: "the cursor's row, from 0 at the top", valueHint: "N" },
  },
  async run({ args, io }) {
    const { system } = trustingSystem(io, createSystem());
    const overrides = readProfiles(system, io.env);
    const profile = chooseProfile(args.tool, overrides);
    const explanation = explainRecording(
      {
        raw: await readScreen(args.screen),
        tool: profile,
        title: args.title ?? null,
        cursorRow: toWholeNumber("cursor-row", args["cursor-row"], 0, 10_000) ?? null,
        nowMs: system.clock.nowMs(),
      },
      defaultTimings,
    );
    return { json: explanation, text: renderExplanation(explanation) };

    async function readScreen(path: string): Promise<string> {
      if (path === "-") return readStdin(io, { lossy: true });
      return readFileFlag("screen", path, { files: system.files, cwd: io.cwd, lossy: true });
    }
  },
});

interface Difference extends LabelDifference {
  /** `svc`, or the folder. */
  source: string;
  recording: string;
}

/** The recordings that come with svc. */
const shipped = "svc";

const check = command({
  name: "check",
  description: "read recorded screens by a file of profiles, and say where it differs from their labels",
  examples: [
    "svc-mgr tools check profiles.json",
    "svc-mgr tools check profiles.json --recordings recordings",
  ],
  args: {
    file: {
      type: "positional",
      required: true,
      description: "a file of profiles, as SVC_TOOL_PROFILES takes it",
    },
    recordings: {
      type: "string",
      multiple: true,
      description:
        "folder of further recordings, as `tools record` makes them: TOOL/VERSION/STATE with screen.ansi.txt and meta.json",
      valueHint: "DIR",
    },
  },
  async run({ args, io }) {
    const { files } = trustingSystem(io, createSystem()).system;
    const profiles = compileAll(await readFileFlag("file", args.file, { files, cwd: io.cwd }));
    const tools = profiles.map((profile) => profile.data.tool).join(", ");
    const sources = [
      { source: shipped, found: ofTools(shippedRecordings(files), profiles) },
      ...args.recordings.map((folder) => ({
        source: folder,
        found: ofTools(recordingsBelow(files, resolve(io.cwd, folder)), profiles),
      })),
    ];
    const empty = sources.find(({ source, found }) => source !== shipped && found.length === 0);
    if (empty) throw new UsageError(`--recordings: ${empty.source} holds no recording of ${tools}`);
    const recordings = sources.reduce((sum, { found }) => sum + found.length, 0);
    if (recordings === 0) {
      throw new UsageError(
        `no recording of ${tools} comes with svc; make some with ${io.program} tools record, and name their folder with --recordings`,
      );
    }
    const differences = sources.flatMap(({ source, found }) =>
      found.flatMap(({ profile, one }) => differencesOf(source, one, profile)),
    );
    const wrong = new Set(differences.map((one) => `${one.source} ${one.recording}`)).size;
    return {
      json: {
        recordings,
        wrong,
        sources: sources.map(({ source, found }) => ({ source, recordings: found.length })),
        differences,
      },
      text: [
        ...differences.map(
          ({ source, recording, field, read, recorded }) =>
            `${source === shipped ? "" : `${source}: `}${recording}: ${field} reads ${read}, labelled ${recorded}`,
        ),
        ...sources.map(
          ({ source, found }) =>
            `${found.length} recordings ${source === shipped ? "that come with svc" : `in ${source}`}`,
        ),
        `${recordings} recordings, ${wrong} read otherwise than labelled`,
      ].join("\n"),
      exitCode: wrong === 0 ? exitCodes.done : exitCodes.refused,
    };
  },
});

function ofTools(recordings: readonly StoredRecording[], profiles: readonly CompiledProfile[]) {
  return recordings.flatMap((one) => {
    const profile = profiles.find(({ data }) => data.tool === one.tool);
    return profile ? [{ profile, one }] : [];
  });
}

function differencesOf(source: string, one: StoredRecording, profile: CompiledProfile): Difference[] {
  const recording = `${one.tool}/${one.version}/${one.state}`;
  const meta = parseMeta(one.meta);
  if (meta === null) {
    throw new UsageError(`--recordings: ${source}/${recording}/meta.json is no description of a recording`);
  }
  const { labels } = readLabels(observeRecording(one.screen, meta, profile), profile);
  return differingLabels(meta.labels, labels).map((difference) => ({ source, recording, ...difference }));
}

function compileAll(text: string) {
  try {
    return parseProfiles(text).map(compileProfile);
  } catch (error) {
    throw new UsageError(`file: ${messageOf(error)}`);
  }
}

export const toolCommands = { list, show, check, record, explain };
