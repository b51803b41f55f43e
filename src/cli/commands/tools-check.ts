import { resolve } from "node:path";
import { type CompiledProfile, compileProfile, parseProfiles } from "../../services/terminal/profile.ts";
import {
  differingLabels,
  type LabelDifference,
  observeRecording,
  parseMeta,
  readLabels,
  type StoredRecording,
} from "../../services/terminal/recorded-screen.ts";
import { messageOf } from "../../system/errors.ts";
import { createSystem } from "../../system/system.ts";
import { command, UsageError } from "../command.ts";
import { exitCodes } from "../dispatch.ts";
import { readFileFlag } from "../flag-values.ts";
import { recordingsBelow, shippedRecordings } from "../shipped-recordings.ts";
import { trustingSystem } from "../trusting-system.ts";

interface Difference extends LabelDifference {
  /** `svc`, or the folder. */
  source: string;
  recording: string;
}

/** The recordings that come with svc. */
const shipped = "svc";

export default command({
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
        `no recording of ${tools} comes with svc; make some with svc-mgr tools record, and name their folder with --recordings`,
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
