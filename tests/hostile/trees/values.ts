/** Random numbers that a seed repeats. */
export interface Rng {
  /** From 0 to below `limit`. */
  int(limit: number): number;
  pick<T>(list: readonly T[]): T;
  chance(probability: number): boolean;
}

/** mulberry32: small, and the same everywhere. */
export function createRng(seed: number): Rng {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (limit: number) => Math.floor(next() * limit);
  return {
    int,
    pick<T>(list: readonly T[]) {
      if (list.length === 0) throw new Error("nothing to pick from");
      return list[int(list.length)] as T;
    },
    chance: (probability) => next() < probability,
  };
}

/** What a hostile value points at. All of it is watched. */
export interface Targets {
  /** Folders of the user that hold precious files, absolute. */
  precious: readonly string[];
  /** A planted program, absolute. It appends to the witness file. */
  program: string;
  /** Ports of planted listeners on loopback. */
  ports: readonly number[];
  /** A process that lives and is not ours to signal. */
  bystanderPid: number;
  /** A socket that listens, absolute. */
  socket: string;
}

/** The kinds of hostile values. Each field of each file meets each of them. */
export const valueClasses = [
  "traversal",
  "traversal-file",
  "deep-traversal",
  "absolute",
  "absolute-file",
  "system-path",
  "dots",
  "empty",
  "control",
  "c1",
  "bidi",
  "nul",
  "line-break",
  "huge",
  "surrogate",
  "program",
  "shell",
  "flag",
  "url",
  "loopback-host",
  "port",
  "pid",
  "prototype",
  "slow-pattern",
  "null",
  "number",
  "huge-number",
  "boolean",
  "list",
  "long-list",
  "object",
  "deep",
  "absent",
] as const;
export type ValueClass = (typeof valueClasses)[number];

/** Stands for a field that is left out. */
export const absent = Symbol("absent");

const hugeCharacters = 300_000;
/** The repository lies two folders below the home: every field may be joined to a folder at another depth. */
const deepest = 12;

/** A value of the class; the same for the same random numbers. */
export function hostileValue(kind: ValueClass, targets: Targets, rng: Rng): unknown {
  const folder = rng.pick(targets.precious);
  const port = rng.pick(targets.ports);
  const up = (levels: number) => "../".repeat(levels);
  switch (kind) {
    case "traversal":
      return `${up(1 + rng.int(deepest))}${lastPart(folder)}`;
    case "traversal-file":
      return `${up(1 + rng.int(deepest))}${lastPart(folder)}/letter.txt`;
    case "deep-traversal":
      // As deep as the tree is or deeper: above the root there is only the root.
      return `${up(40)}${folder.slice(1)}`;
    case "absolute":
      return folder;
    case "absolute-file":
      return `${folder}/letter.txt`;
    case "system-path":
      return rng.pick(["/proc/self/environ", "/dev/zero", "/dev/tty", "/sys/kernel", "/etc/passwd", "/"]);
    case "dots":
      return rng.pick(["..", ".", "../", "./..", "a/../..", "..\\..", "~", "%2e%2e%2f"]);
    case "empty":
      return rng.pick(["", " ", "\t"]);
    case "control":
      return `\u001b]0;title\u0007\u001b[2J\u001b[31mred\u0008\u007f ${rng.int(9)}`;
    case "c1":
      return `\u009b31mred\u009d0;title\u009c\u0085 ${rng.int(9)}`;
    case "bidi":
      return `user\u202etxt.exe\u2066\u2069\u200f\u061c\u2028\u2029 ${rng.int(9)}`;
    case "nul":
      return rng.pick(["a\u0000b", "\u0000", `${folder}\u0000.json`]);
    case "line-break":
      return `one\r\nAuthorization: x\n\ntwo`;
    case "huge":
      return "x".repeat(hugeCharacters + rng.int(9));
    case "surrogate":
      return "\ud800 \udfff\ud800 \ufffe";
    case "program":
      return targets.program;
    case "shell":
      return rng.pick([
        `$(${targets.program})`,
        `; ${targets.program} #`,
        `\`${targets.program}\``,
        `| ${targets.program}`,
        `#(${targets.program})`,
      ]);
    case "flag":
      return rng.pick(["-h", "--help", "-S/tmp/x", `--exec=${targets.program}`, "--"]);
    case "url":
      return rng.pick([`http://127.0.0.1:${port}/`, `http://localhost:${port}`, `ws://127.0.0.1:${port}`]);
    case "loopback-host":
      return rng.pick([
        "127.0.0.1",
        "localhost",
        `127.0.0.1:${port}/x?`,
        `x@127.0.0.1:${port}#`,
        "127.1",
        "::1",
      ]);
    case "port":
      return port;
    case "pid":
      return targets.bystanderPid;
    case "prototype":
      return rng.pick(["__proto__", "constructor", "toString", "hasOwnProperty"]);
    case "slow-pattern":
      return rng.pick(["^(a+)+$", "(?:x|x?)*y", "(.*a){25}", "("]);
    case "null":
      return null;
    case "number":
      return rng.pick([0, -1, 1.5, 1, 2]);
    case "huge-number":
      return rng.pick([2 ** 31, 2 ** 53, 1e300, -(2 ** 53), 2 ** 63]);
    case "boolean":
      return rng.chance(0.5);
    case "list":
      return rng.pick([[], [folder], [null], [[targets.program]]]);
    case "long-list":
      return new Array(20_000).fill("../x");
    case "object":
      return rng.pick([{}, { path: folder }, { "../../x": folder }, { "": null }]);
    case "deep":
      return nested(4000);
    case "absent":
      return absent;
  }
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function nested(levels: number): unknown {
  let value: unknown = null;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/** The same as text, for a column or a file that holds only text. */
export function asText(value: unknown): string {
  if (value === absent) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
