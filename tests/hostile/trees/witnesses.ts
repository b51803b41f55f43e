import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { secretPrompt, secretToken } from "./operations.ts";

/** What a folder holds: for each path its type, mode, times, size, and a hash of what it says. */
export type Snapshot = ReadonlyMap<string, string>;

/**
 * `without`: folders that may change, absolute; what is in them is passed over, and when they were changed.
 */
export function takeSnapshot(folder: string, without: readonly string[]): Snapshot {
  const found = new Map<string, string>();
  const above = new Set(without.map((path) => dirname(path)));
  const visit = (path: string) => {
    if (without.includes(path)) return;
    const facts = lstatSync(path, { bigint: true });
    const times = above.has(path) ? "" : `${facts.mtimeNs} ${facts.ctimeNs}`;
    const what = facts.isDirectory()
      ? "folder"
      : facts.isSymbolicLink()
        ? `link ${readlinkSync(path)}`
        : facts.isFile()
          ? createHash("sha256").update(readFileSync(path)).digest("hex")
          : "special";
    found.set(path, `${facts.mode.toString(8)} ${facts.isDirectory() ? "" : facts.size} ${times} ${what}`);
    if (facts.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
  };
  visit(folder);
  return found;
}

/** What differs, one line each. */
export function compareSnapshots(before: Snapshot, after: Snapshot): string[] {
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path) => `removed: ${path}`);
  const made = [...after.keys()].filter((path) => !before.has(path)).map((path) => `made: ${path}`);
  const changed = [...before].flatMap(([path, was]) => {
    const is = after.get(path);
    return is === undefined || is === was ? [] : [`changed: ${path}: ${was} -> ${is}`];
  });
  return [...gone, ...made, ...changed];
}

/** Folders of the user with things that cannot be had again, one of each kind that a link may lead to. */
export function makePrecious(folder: string): void {
  mkdirSync(join(folder, "inbox"), { recursive: true, mode: 0o755 });
  writeFileSync(join(folder, "letter.txt"), "precious\n", { mode: 0o640 });
  writeFileSync(join(folder, "empty"), "");
  writeFileSync(join(folder, "inbox", "kept.md"), "kept\n");
  const database = new Database(join(folder, "data.sqlite"), { create: true });
  database.run("CREATE TABLE own (value TEXT)");
  database.run("INSERT INTO own VALUES ('precious')");
  database.close();
  const long = new Date("2020-01-01T00:00:00Z");
  for (const name of ["inbox/kept.md", "letter.txt", "empty", "data.sqlite", "inbox", "."]) {
    utimesSync(join(folder, name), long, long);
  }
}

/** A listener on loopback that is none of ours, and answers as one of our gateways would. */
export interface PlantedListener {
  port: number;
  /** What it got that it should never get, one line each; empties the list. */
  takeSecrets(): string[];
  stop(): void;
}

/**
 * `status`: what it says of itself, so that a client which only asks who is there goes on and shows its
 * secrets.
 */
export function plantListener(status: () => object): PlantedListener {
  let secrets: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const got = [
        request.url,
        ...[...request.headers].map(([name, value]) => `${name}: ${value}`),
        await request.text(),
      ];
      for (const text of got) {
        if (text.includes(secretPrompt) || text.includes(secretToken)) {
          secrets.push(`${request.method} ${url.pathname}: ${text.slice(0, 200)}`);
        }
      }
      if (url.pathname === "/health") {
        return Response.json({ protocol_version: "v1", status: "ok" });
      }
      return Response.json(status());
    },
  });
  return {
    port: server.port ?? 0,
    takeSecrets() {
      const taken = secrets;
      secrets = [];
      return taken;
    },
    stop: () => void server.stop(true),
  };
}

/**
 * Signals that this process would have sent, instead of the signals: `process.kill` only asks from here on.
 */
export function interceptSignals(): { take(): string[] } {
  const send = process.kill.bind(process);
  let sent: string[] = [];
  process.kill = (pid, signal) => {
    if (signal === 0) return send(pid, 0);
    sent.push(`${String(signal)} to ${pid}`);
    return true;
  };
  return {
    take() {
      const taken = sent;
      sent = [];
      return taken;
    },
  };
}

/** C0 without tab and newline, DEL, C1, line separators and bidi controls: none belongs on a terminal. */
const unshowable = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
/**
 * How a line of progress replaces the one before, and how the dashboard takes, draws and gives back its
 * screen.
 */
const ownControls = /\r\x1b\[K|\r(?=\n)|\x1b\[(?:\?(?:7|25|1049|2004)[hl]|0m|\d+;\d+H|[HJK])/g;
const stackTrace = /\n\s+at .*(?:\.ts:\d+|\(native\))/;
const exitCodes = [0, 1, 2, 3];

/** What is wrong with what a command wrote and how it ended. */
export function judgeOutput(
  run: { exitCode: number; out: string; err: string },
  options: { json: boolean; terminal: boolean; raw: boolean },
): string[] {
  const { exitCode, out, err } = run;
  const problems: string[] = [];
  if (!exitCodes.includes(exitCode)) problems.push(`exit code ${exitCode}`);
  if (stackTrace.test(err) || (!options.raw && stackTrace.test(out))) problems.push("a stack trace is shown");
  if (options.terminal) {
    for (const [name, text] of Object.entries({ out, err })) {
      const found = unshowable.exec(text.replaceAll(ownControls, ""));
      if (!found) continue;
      const code = found[0].charCodeAt(0).toString(16);
      const around = JSON.stringify(text.slice(Math.max(0, found.index - 60), found.index + 20));
      problems.push(`U+${code.padStart(4, "0")} reaches the terminal on std${name}: ${around}`);
    }
  }
  if (options.json && !options.raw) {
    const text = exitCode === 0 ? out : err || out;
    const document = parsed(text.slice(text.indexOf("{")));
    if (exitCode === 0 && document === null) problems.push(`not one JSON document: ${text.slice(0, 100)}`);
    if (document?.["error"] === "internal") problems.push(`internal error: ${text.slice(0, 400)}`);
  }
  return problems;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** What planted programs wrote when they ran; null when none did. */
export function readWitness(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}
