import { expect } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { type Labels, observe, type Recording, read } from "../../unit/terminal/corpus.ts";
import type { InstalledCli } from "./cli-cache.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * The frames that a tool showed, in the corpus format: a folder for each with `screen.ansi.txt` and
 * `meta.json`, so that a useful one can be moved to `tests/screens`. Names and paths of this machine are
 * taken out.
 */
export interface Recorder {
  folder: string;
  /**
   * Records what the session's agent shows and fails when it reads differently than `labels` say. A frame of
   * a tool that is half repainted reads as nothing in particular: one of the looks of two seconds must be
   * right.
   */
  record(frame: { box: Sandbox; session: string; name: string; labels: Labels }): Promise<void>;
  /** Removes the folder. */
  discard(): void;
}

/** `SVC_LAB_RECORDINGS` selects the parent folder; else it is the system's temporary one. */
export function createRecorder(cli: InstalledCli): Recorder {
  const parent = process.env["SVC_LAB_RECORDINGS"] ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, `svc-lab-screens-${cli.tool}-`));
  let count = 0;

  function look({ box, session, name, labels }: Parameters<Recorder["record"]>[0]): Labels {
    count += 1;
    const recording = capture(cli, box, session, name, labels);
    write(join(folder, `${String(count).padStart(2, "0")}-${name}`), recording);
    return read(observe(recording), cli.tool).labels;
  }

  return {
    folder,
    async record(frame) {
      for (const pauseMs of repaintMs) {
        if (Bun.deepEquals(look(frame), frame.labels)) return;
        await Bun.sleep(pauseMs);
      }
      expect({ screen: frame.name, ...look(frame) }).toEqual({ screen: frame.name, ...frame.labels });
    },
    discard: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Between the looks: a tool repaints at once, but for a busy machine. */
const repaintMs = [60, 120, 240, 480, 960];

function capture(cli: InstalledCli, box: Sandbox, session: string, name: string, labels: Labels): Recording {
  const target = ["-t", `=${session}:0`];
  const facts = ["display-message", "-p", ...target, "#{cursor_y} #{cursor_x} #{pane_height} #{pane_title}"];
  // One invocation: title and screen belong together.
  const [first = "", ...rows] = box.tmux(...facts, ";", "capture-pane", "-p", "-e", ...target).split("\n");
  const [, cursor, column, height, title = ""] = /^(\d+) (\d+) (\d+) (.*)$/.exec(first) ?? [];
  const scrub = (text: string) =>
    text
      .replaceAll(box.work, "/home/user/work".padEnd(box.work.length))
      .replaceAll(box.home, "/home/user".padEnd(box.home.length))
      .replaceAll(hostname(), "host");
  return {
    tool: cli.tool,
    version: cli.version,
    name,
    category: categoryOf(labels),
    recorded_as: name,
    title: scrub(title),
    cursor_row: Number(cursor),
    cursor_column: Number(column),
    rows: Number(height),
    process: labels.business_state === null ? "gone" : "up",
    labels,
    raw: scrub(rows.join("\n")),
  };
}

function categoryOf(labels: Labels): string {
  if (labels.business_state === null) return "gone";
  if (labels.decision) return "decision";
  if (labels.pending_input === "yes") return "pending";
  if (labels.editing_input === "yes") return "draft";
  if (labels.phase === "active") return "busy";
  return labels.last_turn === "none" ? "ready" : labels.last_turn === "interrupted" ? "interrupted" : "error";
}

function write(folder: string, { tool: _, version: _v, name: _n, raw, ...meta }: Recording): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "screen.ansi.txt"), raw);
  writeFileSync(join(folder, "meta.json"), `${JSON.stringify(meta, null, 2)}\n`);
}
