import { basename, join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../../../protocol/json.ts";
import { type ToolReport, ToolReportSchema } from "../../../../protocol/tool-report.ts";
import { type Clock, sleep } from "../../../../system/clock.ts";
import type { Files } from "../../../../system/files.ts";
import { createLoop } from "../../../../system/lifecycle.ts";
import { faultLine } from "../../../../system/storage-fault.ts";
import type { FolderWatch } from "../../../../system/watch.ts";
import type { Log } from "../../../diagnostics/gateway-log.ts";
import type { ReportSource } from "../../../terminal/report-source.ts";
import { maxSpoolBytes } from "./spool-line.ts";

/** Files of a session that its tool's hooks write or are configured by. */
export function signalPaths(sessionRoot: string) {
  const root = join(sessionRoot, "signals");
  return {
    root,
    spool: join(root, "reports.jsonl"),
    /** The spool before the last rotation. */
    rotated: join(root, "reports.1.jsonl"),
    cursor: join(root, "cursor.json"),
    claudeSettings: join(root, "claude-settings.json"),
    opencodePlugin: join(root, "opencode-plugin.js"),
    opencodeConfig: join(root, "opencode.json"),
  };
}

/** A change in the folder makes the gateway look at once; this is for changes that were not reported. */
const pollIntervalMs = 10_000;
/** One read. With the pause after it, a flood takes a tenth of a core at most. */
const chunkBytes = 256 * 1024;
const betweenChunksMs = 50;
/** Above this a spool that was read to its end is rotated. */
const rotateBytes = 4 * 1024 * 1024;
/** Of a backlog above `maxSpoolBytes`, which no hook of ours makes, only this much is read: its end. */
const keptOfFloodBytes = 256 * 1024;
/** Ids of reports that were passed on; older ones are forgotten. */
const rememberedIds = 4096;

const Position = Type.Object({ file: Type.String(), offset: Type.Integer({ minimum: 0 }) });
/** cursor.json: how far each file of the spool was read. `file`: device and inode. */
const Cursor = Type.Object({
  schema_version: Type.Literal(1),
  read: Type.Array(Position, { maxItems: 2 }),
});

/**
 * The reports that the hooks of a session's tool append to its spool. Each is passed on at most once, also
 * over restarts: how far the spool was read is saved before the reports of a chunk are passed on. `log` gets
 * each kind of problem once and never a text of the spool. Source: spec/security.md, rules 1 and 8.
 */
export function createSpoolSource(deps: {
  files: Files;
  clock: Clock;
  watch: FolderWatch;
  log: Log;
  sessionRoot: string;
}): ReportSource {
  const { files, clock, log } = deps;
  const paths = signalPaths(deps.sessionRoot);
  const listeners = new Set<(report: ToolReport) => void>();
  const passedOn = new Set<string>();
  const logged = new Set<string>();
  /** By file; null before the first look. */
  let positions: Map<string, number> | null = null;
  let endWatch = () => {};

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => logOnce(`the reports of the tool cannot be read: ${faultLine(error)}`),
  });

  function logOnce(text: string, fields: Record<string, number> = {}): void {
    if (logged.has(text)) return;
    logged.add(text);
    log.line(text, fields);
  }

  async function turn(signal: AbortSignal): Promise<number> {
    positions ??= readPositions();
    // What a hook that had the file open wrote after the rotation is older than what the new file holds.
    for (const path of [paths.rotated, paths.spool]) {
      while (!signal.aborted && readChunk(path)) await sleep(clock, betweenChunksMs, signal);
    }
    return pollIntervalMs;
  }

  /** Passes on the next reports of a file. True when there may be more. */
  function readChunk(path: string): boolean {
    const known = positions ?? new Map<string, number>();
    const found = findSpool(path);
    if (found === null) return false;
    const { size, identity } = found;
    // A rotated file that nothing is known of was read by an earlier gateway.
    let offset = known.get(identity) ?? (path === paths.spool ? 0 : size);
    // Somebody emptied it.
    if (offset > size) offset = 0;
    const backlog = size - offset;
    if (backlog > maxSpoolBytes) {
      logOnce("too many reports of the tool: most were dropped", { bytes: backlog - keptOfFloodBytes });
      offset = size - keptOfFloodBytes;
    }
    const bytes = backlog === 0 ? new Uint8Array() : files.readPart(path, offset, offset + chunkBytes);
    if (backlog > 0 && bytes.length === 0) {
      logOnce("the reports of the tool are refused: their file is not a regular file of this user alone");
      return false;
    }
    const end = bytes.lastIndexOf(newline) + 1;
    // No line of ours is as long as a chunk.
    const used = end > 0 ? end : bytes.length === chunkBytes ? chunkBytes : 0;
    offset += used;
    if (used > 0) save(known.set(identity, offset));
    passOn(new TextDecoder().decode(bytes.subarray(0, used)).split("\n"));
    if (path === paths.spool && offset === size && size >= rotateBytes) rotate(identity, offset);
    return bytes.length === chunkBytes;
  }

  function findSpool(path: string) {
    if (files.isLink(path)) {
      logOnce("the reports of the tool are refused: a symbolic link is where their file belongs");
      return null;
    }
    const found = files.stat(path);
    if (found?.directory) {
      logOnce("the reports of the tool cannot be read: a folder is where their file belongs");
      return null;
    }
    return found;
  }

  function passOn(lines: readonly string[]): void {
    let unfit = 0;
    for (const line of lines) {
      if (line === "") continue;
      const report = parseJson(ToolReportSchema, line);
      if (report === null) unfit += 1;
      else if (isNew(report.id)) for (const listener of [...listeners]) listener(report);
    }
    if (unfit > 0) logOnce("lines among the reports of the tool that are no reports", { count: unfit });
  }

  function isNew(id: string): boolean {
    if (passedOn.has(id)) return false;
    passedOn.add(id);
    if (passedOn.size > rememberedIds) passedOn.delete(passedOn.values().next().value ?? "");
    return true;
  }

  function rotate(identity: string, offset: number): void {
    const [from, to] = [paths.spool, paths.rotated].map((path) =>
      files.contained(paths.root, basename(path), "file"),
    );
    if (from === undefined || to === undefined) return;
    files.rename("file:reports-rotate", from, to);
    // The file that was rotated before is gone, and the next one may get its inode.
    positions = new Map([[identity, offset]]);
    save(positions);
  }

  function readPositions(): Map<string, number> {
    if (!files.exists(paths.cursor)) return new Map();
    const read = parseJson(Cursor, files.read(paths.cursor))?.read;
    if (read) return new Map(read.map(({ file, offset }) => [file, offset]));
    logOnce("the reports of the tool before now are passed over: cursor.json is damaged");
    return new Map(
      [paths.rotated, paths.spool].flatMap((path) => {
        const found = files.stat(path);
        return found ? [[found.identity, found.size]] : [];
      }),
    );
  }

  function save(read: ReadonlyMap<string, number>): void {
    const entries = [...read].slice(-2).map(([file, offset]) => ({ file, offset }));
    const cursor: Static<typeof Cursor> = { schema_version: 1, read: entries };
    try {
      files.write("file:reports-cursor", paths.cursor, renderJson(cursor), { durable: false });
    } catch (error) {
      // A full disk costs a later gateway reports that come twice, and this one nothing.
      logOnce(`how far the reports of the tool were read is not noted: ${faultLine(error)}`);
    }
  }

  return {
    absence: () => null,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      endWatch();
      endWatch = deps.watch.watchFolder(paths.root, (name) => {
        if (name === null || name === basename(paths.spool)) loop.wake();
      });
      loop.start();
    },
    async stop() {
      endWatch();
      await loop.stop();
    },
  };
}

/** A source that never has a report, and says why. */
export function createNoSource(why: string): ReportSource {
  return { absence: () => why, subscribe: () => () => {}, start() {}, async stop() {} };
}

const newline = 10;
