import { join, resolve } from "node:path";
import { compileProfile, parseProfiles } from "../../services/terminal/profile.ts";
import { observeRecording, type RecordedFacts, readLabels } from "../../services/terminal/recorded-screen.ts";
import { childPath } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import { createSystem } from "../../system/system.ts";
import { command, UsageError } from "../command.ts";
import { exitCodes } from "../dispatch.ts";
import { readFileFlag } from "../flag-values.ts";
import { trustingSystem } from "../trusting-system.ts";

interface Difference {
  recording: string;
  field: string;
  recorded: string;
  read: string;
}

export default command({
  name: "check",
  description: "read recorded screens by a file of profiles, and say where it differs from their labels",
  examples: ["svc-mgr tools check profiles.json --recordings tests/screens"],
  args: {
    file: {
      type: "positional",
      required: true,
      description: "a file of profiles, as SVC_TOOL_PROFILES takes it",
    },
    recordings: {
      type: "string",
      required: true,
      description: "folder of recordings, TOOL/VERSION/STATE with screen.ansi.txt and meta.json",
      valueHint: "DIR",
    },
  },
  async run({ args, io }) {
    const { files } = trustingSystem(io, createSystem()).system;
    const text = await readFileFlag("file", args.file, { files, cwd: io.cwd });
    const profiles = compileAll(text);
    const root = resolve(io.cwd, args.recordings);
    const differences: Difference[] = [];
    let recordings = 0;
    for (const profile of profiles) {
      const { tool } = profile.data;
      for (const version of files.list(childPath(root, tool))) {
        for (const state of files.list(childPath(root, tool, version))) {
          const folder = childPath(root, tool, version, state);
          if (files.stat(join(folder, "meta.json")) === null) continue;
          recordings += 1;
          const screen = await readFileFlag("recordings", join(folder, "screen.ansi.txt"), {
            files,
            cwd: io.cwd,
            lossy: true,
          });
          const meta = toMeta(
            folder,
            await readFileFlag("recordings", join(folder, "meta.json"), { files, cwd: io.cwd }),
          );
          const { labels } = readLabels(observeRecording(screen, meta, profile), profile);
          differences.push(...compare(`${tool}/${version}/${state}`, meta.labels, labels));
        }
      }
    }
    if (recordings === 0) {
      const tools = profiles.map((profile) => profile.data.tool).join(", ");
      throw new UsageError(`--recordings: ${args.recordings} holds no recording of ${tools}`);
    }
    const wrong = new Set(differences.map((one) => one.recording)).size;
    return {
      json: { recordings, wrong, differences },
      text: [
        ...differences.map(
          (one) => `${one.recording}: ${one.field} reads ${one.read}, labelled ${one.recorded}`,
        ),
        `${recordings} recordings, ${wrong} read otherwise than labelled`,
      ].join("\n"),
      exitCode: wrong === 0 ? exitCodes.done : exitCodes.refused,
    };
  },
});

function compileAll(text: string) {
  try {
    return parseProfiles(text).map(compileProfile);
  } catch (error) {
    throw new UsageError(`file: ${messageOf(error)}`);
  }
}

function toMeta(folder: string, text: string): RecordedFacts & { labels: Record<string, unknown> } {
  try {
    const meta = JSON.parse(text) as RecordedFacts & { labels?: Record<string, unknown> };
    if (typeof meta.rows === "number" && typeof meta.labels === "object") {
      return { ...meta, labels: meta.labels };
    }
  } catch {
    // The same words as for one of another shape.
  }
  throw new UsageError(`--recordings: ${folder}/meta.json is no description of a recording`);
}

function compare(recording: string, recorded: Record<string, unknown>, read: object): Difference[] {
  return Object.entries(read).flatMap(([field, value]): Difference[] => {
    if (Bun.deepEquals(recorded[field], value)) return [];
    return [
      { recording, field, recorded: JSON.stringify(recorded[field] ?? null), read: JSON.stringify(value) },
    ];
  });
}
