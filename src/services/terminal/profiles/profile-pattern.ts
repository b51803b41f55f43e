import { messageOf } from "../../../system/errors.ts";

/**
 * Regular expressions in linear time: what JavaScript's own do with the flag `u`, with every state visited
 * once at most for each position, so that no text makes one slow. Without back references, look-behind, flags
 * in groups, groups that capture inside look-ahead, and repeated parts that may match nothing.
 */
export interface Pattern {
  test(text: string): boolean;
  /** The leftmost match and its groups, as of RegExp. */
  exec(text: string): Match | null;
}

export interface Match extends ReadonlyArray<string | undefined> {
  readonly 0: string;
  /** Where it begins. */
  readonly index: number;
}

/** Instructions of a program, its repetitions written out: with the length of a row the bound of its time. */
const maxInstructions = 500;
/** A longer text is looked at so far; a row of a terminal is shorter. */
const maxCharacters = 2000;

type Node =
  | { kind: "character"; source: string }
  | { kind: "assertion"; what: "start" | "end" | "boundary" | "inside" }
  | { kind: "look"; body: Node; negative: boolean }
  | { kind: "group"; body: Node; index: number | null }
  | { kind: "sequence"; parts: Node[] }
  | { kind: "choice"; branches: Node[] }
  | { kind: "repeat"; body: Node; min: number; max: number; lazy: boolean };

type Instruction =
  | { op: "character"; matches: (character: string) => boolean }
  | { op: "assertion"; what: "start" | "end" | "boundary" | "inside" }
  | { op: "look"; body: number; negative: boolean }
  | { op: "split"; first: number; second: number; nth: number }
  | { op: "jump"; to: number }
  | { op: "save"; slot: number }
  | { op: "forget"; groups: readonly number[] }
  | { op: "match" };

class Unsupported extends Error {}

/**
 * Compiles a pattern of a profile that is not our own. Refused with the reason: what is no pattern, and what
 * is not offered.
 */
export function compilePattern(source: string): { pattern: Pattern } | { problem: string } {
  try {
    new RegExp(source, "u");
  } catch (error) {
    return { problem: messageOf(error) };
  }
  try {
    const { node, groups } = parse(source);
    const program = createProgram(node);
    const exec = (text: string) =>
      run(program, [...text.slice(0, 2 * maxCharacters)].slice(0, maxCharacters), groups);
    return { pattern: { test: (text) => exec(text) !== null, exec } };
  } catch (error) {
    if (error instanceof Unsupported) return { problem: error.message };
    throw error;
  }
}

function parse(source: string): { node: Node; groups: number } {
  let at = 0;
  let groups = 0;
  let looking = 0;

  function choice(): Node {
    const branches = [sequence()];
    while (source[at] === "|") {
      at += 1;
      branches.push(sequence());
    }
    return branches.length === 1 && branches[0] ? branches[0] : { kind: "choice", branches };
  }

  function sequence(): Node {
    const parts: Node[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(repeated(term()));
    return { kind: "sequence", parts };
  }

  function term(): Node {
    const assertion = /^(?:\^|\$|\\b|\\B)/.exec(source.slice(at))?.[0];
    if (assertion !== undefined) {
      at += assertion.length;
      const words = { "^": "start", $: "end", "\\b": "boundary", "\\B": "inside" } as const;
      return { kind: "assertion", what: words[assertion as keyof typeof words] };
    }
    if (source[at] === "(") return group();
    const start = at;
    at += characterLength(source, at);
    return { kind: "character", source: source.slice(start, at) };
  }

  function group(): Node {
    const opening = /^\((?:\?(?:[:=!]|<[^=!>][^>]*>))?/.exec(source.slice(at))?.[0] ?? "(";
    at += opening.length;
    if (source[at] === "?") {
      throw new Unsupported(
        source[at + 1] === "<" ? "look-behind is not allowed" : "flags in a group are not allowed",
      );
    }
    const looks = opening === "(?=" || opening === "(?!";
    const captures = !looks && opening !== "(?:";
    if (captures && looking > 0) throw new Unsupported("a group in a look-ahead is not allowed; write (?:");
    const index = captures ? ++groups : null;
    if (looks) looking += 1;
    const body = choice();
    if (looks) looking -= 1;
    at += 1;
    return looks ? { kind: "look", body, negative: opening === "(?!" } : { kind: "group", body, index };
  }

  function repeated(body: Node): Node {
    const quantifier = /^(?:[*+?]|\{(\d+)(,(\d*))?\})(\?)?/.exec(source.slice(at));
    if (!quantifier) return body;
    at += quantifier[0].length;
    const [whole, least, range, most, lazy] = quantifier;
    const [min, max] =
      least === undefined
        ? ({ "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] } as const)[whole[0] as "*" | "+" | "?"]
        : [Number(least), range === undefined ? Number(least) : most ? Number(most) : Infinity];
    if (isNullable(body)) throw new Unsupported("a repeated part may match nothing");
    return { kind: "repeat", body, min, max, lazy: lazy !== undefined };
  }

  return { node: choice(), groups };
}

/** How long the atom at `at` is that matches one character. */
function characterLength(source: string, at: number): number {
  const rest = source.slice(at);
  if (rest[0] === "[") {
    let end = 1;
    while (rest[end] !== "]") end += rest[end] === "\\" ? 2 : 1;
    return end + 1;
  }
  if (/^\\(?:[1-9]|k)/.test(rest)) throw new Unsupported("back references are not allowed");
  const escaped =
    /^\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|c.|.)/su.exec(
      rest,
    );
  return escaped ? escaped[0].length : String.fromCodePoint(rest.codePointAt(0) ?? 0).length;
}

function isNullable(node: Node): boolean {
  switch (node.kind) {
    case "character":
      return false;
    case "assertion":
    case "look":
      return true;
    case "group":
      return isNullable(node.body);
    case "sequence":
      return node.parts.every(isNullable);
    case "choice":
      return node.branches.some(isNullable);
    case "repeat":
      return node.min === 0 || isNullable(node.body);
  }
}

function groupsIn(node: Node): number[] {
  switch (node.kind) {
    case "group":
      return [...(node.index === null ? [] : [node.index]), ...groupsIn(node.body)];
    case "sequence":
      return node.parts.flatMap(groupsIn);
    case "choice":
      return node.branches.flatMap(groupsIn);
    case "repeat":
    case "look":
      return groupsIn(node.body);
    default:
      return [];
  }
}

interface Program {
  code: readonly Instruction[];
  splits: number;
}

function createProgram(node: Node): Program {
  const code: Instruction[] = [];
  let splits = 0;

  const add = <I extends Instruction>(instruction: I): I => {
    if (code.length >= maxInstructions)
      throw new Unsupported("it is too large once its repetitions are written out");
    code.push(instruction);
    return instruction;
  };
  const split = () => add({ op: "split", first: 0, second: 0, nth: splits++ });
  /** Goes on here when it takes the branch, which a lazy one prefers not to. */
  const branchTo = (from: ReturnType<typeof split>, lazy: boolean, taken: number, left: number) => {
    from.first = lazy ? left : taken;
    from.second = lazy ? taken : left;
  };

  function emit(node: Node): void {
    switch (node.kind) {
      case "character":
        add({ op: "character", matches: matcherOf(node.source) });
        return;
      case "assertion":
        add({ op: "assertion", what: node.what });
        return;
      case "look": {
        const look = add({ op: "look", body: 0, negative: node.negative });
        const over = add({ op: "jump", to: 0 });
        look.body = code.length;
        emit(node.body);
        add({ op: "match" });
        over.to = code.length;
        return;
      }
      case "group":
        if (node.index !== null) add({ op: "save", slot: 2 * node.index });
        emit(node.body);
        if (node.index !== null) add({ op: "save", slot: 2 * node.index + 1 });
        return;
      case "sequence":
        node.parts.forEach(emit);
        return;
      case "choice": {
        const ends: { to: number }[] = [];
        for (const branch of node.branches.slice(0, -1)) {
          const fork = split();
          fork.first = code.length;
          emit(branch);
          ends.push(add({ op: "jump", to: 0 }));
          fork.second = code.length;
        }
        for (const last of node.branches.slice(-1)) emit(last);
        for (const end of ends) end.to = code.length;
        return;
      }
      case "repeat":
        repeat(node);
        return;
    }
  }

  function repeat({ body, min, max, lazy }: Extract<Node, { kind: "repeat" }>): void {
    const groups = groupsIn(body);
    const once = () => {
      if (groups.length > 0) add({ op: "forget", groups });
      emit(body);
    };
    for (let nth = 0; nth < min; nth++) once();
    if (max === Infinity) {
      const start = code.length;
      const fork = split();
      once();
      add({ op: "jump", to: start });
      branchTo(fork, lazy, start + 1, code.length);
      return;
    }
    const forks = [];
    for (let nth = min; nth < max; nth++) {
      forks.push({ fork: split(), taken: code.length });
      once();
    }
    for (const { fork, taken } of forks) branchTo(fork, lazy, taken, code.length);
  }

  emit(node);
  add({ op: "match" });
  return { code, splits };
}

/** What one character must be, decided by RegExp itself, once for each that is met. */
function matcherOf(source: string): (character: string) => boolean {
  if (!/[\\.[]/.test(source)) return (character) => character === source;
  const one = new RegExp(`^(?:${source})$`, "u");
  const known = new Map<string, boolean>();
  return (character) => {
    const before = known.get(character);
    if (before !== undefined) return before;
    const now = one.test(character);
    if (known.size < 1000) known.set(character, now);
    return now;
  };
}

function run({ code, splits }: Program, text: readonly string[], groups: number): Match | null {
  /** For each split and position: 0 not known, 1 leads to no match, 2 does. */
  const leads = new Uint8Array(splits * (text.length + 1));
  const isWord = (at: number) => /^\w$/.test(text[at] ?? "");

  function holds(what: "start" | "end" | "boundary" | "inside", at: number): boolean {
    if (what === "start") return at === 0;
    if (what === "end") return at === text.length;
    return (isWord(at - 1) !== isWord(at)) === (what === "boundary");
  }

  /**
   * Whether a match can be reached from here. There is no way round without a character: no repeated part is
   * empty.
   */
  function matchesFrom(firstStep: number, from: number): boolean {
    let pc = firstStep;
    let at = from;
    for (;;) {
      const step = code[pc];
      if (step === undefined || step.op === "match") return true;
      switch (step.op) {
        case "character":
          if (at >= text.length || !step.matches(text[at] ?? "")) return false;
          at += 1;
          pc += 1;
          break;
        case "assertion":
          if (!holds(step.what, at)) return false;
          pc += 1;
          break;
        case "look":
          if (matchesFrom(step.body, at) === step.negative) return false;
          pc += 1;
          break;
        case "jump":
          pc = step.to;
          break;
        case "split": {
          const state = at * splits + step.nth;
          if (leads[state] !== 0) return leads[state] === 2;
          const found = matchesFrom(step.first, at) || matchesFrom(step.second, at);
          leads[state] = found ? 2 : 1;
          return found;
        }
        default:
          pc += 1;
      }
    }
  }

  /** Follows the preferred way of those that lead to a match. */
  function capture(start: number): Match {
    const slots: (number | undefined)[] = Array.from({ length: 2 * (groups + 1) });
    let at = start;
    let pc = 0;
    for (let step = code[pc]; step && step.op !== "match"; step = code[pc]) {
      switch (step.op) {
        case "character":
          at += 1;
          pc += 1;
          break;
        case "jump":
          pc = step.to;
          break;
        case "split":
          pc = matchesFrom(step.first, at) ? step.first : step.second;
          break;
        case "save":
          slots[step.slot] = at;
          pc += 1;
          break;
        case "forget":
          for (const group of step.groups) slots[2 * group] = slots[2 * group + 1] = undefined;
          pc += 1;
          break;
        default:
          pc += 1;
      }
    }
    [slots[0], slots[1]] = [start, at];
    const found = Array.from({ length: groups + 1 }, (_, group) => {
      const [from, to] = [slots[2 * group], slots[2 * group + 1]];
      return from === undefined || to === undefined ? undefined : text.slice(from, to).join("");
    });
    const index = text.slice(0, start).join("").length;
    return Object.assign(found, { 0: found[0] ?? "", index });
  }

  for (let start = 0; start <= text.length; start++) if (matchesFrom(0, start)) return capture(start);
  return null;
}
