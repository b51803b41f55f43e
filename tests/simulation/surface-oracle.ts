import type { SimSession, Typed } from "./sim-session.ts";

/** What a text may be typed into, besides a ready composer. */
export type Leave =
  /** Nothing else. */
  | "turn_boundary"
  /** A busy agent too. */
  | "composer"
  /** Whatever the agent does. */
  | "anything";

/**
 * Watches what gateways type into one pane, by what the pane really shows. A gateway may be a moment late, so
 * each fact counts from the last time that the gateway had a look at it.
 */
export interface SurfaceOracle {
  /** The screen, the program or the session may be another. */
  observe(): void;
  looked(pid: number): void;
  /** `sentMs`: what was looked at after it says nothing of what was known. */
  typed(pid: number, typed: Typed, sentMs: number): void;
  /** Since when the agent could begin a turn; null when it cannot. */
  readySinceMs(): number | null;
  /** Since when the composer is empty, or is not. */
  draftSinceMs(): number;
  /** As the product names this life of the agent. */
  instanceId(): string | null;
}

export interface SurfaceOracleDeps {
  nowMs: () => number;
  session: () => SimSession | null;
  /** Who asked for this text, and what it may be typed into; null when nobody did. */
  leaveOf: (
    text: string,
    instance: { id: string | null; seenByMs: (sinceMs: number) => boolean },
  ) => Leave | null;
  fail: (what: string) => void;
}

/** A look is not older than this when something is typed after it. */
const freshMs = 3000;
/** More looks are not under way at once. */
const maxLooks = 32;

export function createSurfaceOracle(deps: SurfaceOracleDeps): SurfaceOracle {
  const { nowMs, fail } = deps;
  /** Since when each fact is as it is. */
  const since = new Map<string, { value: string; sinceMs: number }>();
  /** The latest times, in order. */
  const looks = new Map<number, number[]>();
  /** The last look before what is typed was sent. */
  let lookedMs: number | null = null;
  let readySinceMs: number | null = null;
  let pasted: { pid: number; text: string; leave: Leave; atMs: number } | null = null;

  function facts(): Record<string, string> {
    const session = deps.session();
    const surface = session?.pane.surface();
    return {
      instance: instanceOf(session) ?? "none",
      program: surface?.program ?? "none",
      busy: String(surface?.busy ?? false),
      deciding: String(surface?.deciding ?? false),
      drafting: String((surface?.draft ?? "") !== ""),
    };
  }

  function observe(): void {
    const now = facts();
    for (const [name, value] of Object.entries(now)) {
      if (since.get(name)?.value !== value) since.set(name, { value, sinceMs: nowMs() });
    }
    const ready =
      now["program"] === "agent" &&
      now["busy"] === "false" &&
      now["deciding"] === "false" &&
      now["drafting"] === "false";
    if (!ready) readySinceMs = null;
    else readySinceMs ??= nowMs();
  }

  /** The fact was so when the gateway looked last, and is. */
  function knew(name: string, values: readonly string[]): boolean {
    const fact = since.get(name);
    return fact !== undefined && values.includes(fact.value) && fact.sinceMs < (lookedMs ?? 0);
  }

  function paste(pid: number, text: string): void {
    const surface = deps.session()?.pane.surface();
    if (pasted?.pid === pid && surface?.draft.includes(pasted.text) && !cameUpSince(pasted.atMs)) {
      fail(`pasted into the middle of another submission: ${JSON.stringify(text)}`);
    }
    const seenByMs = (sinceMs: number) => sinceMs < (lookedMs ?? 0);
    const leave = deps.leaveOf(text, { id: instanceOf(deps.session()), seenByMs });
    if (leave === null) fail(`typed what nobody asked for: ${JSON.stringify(text)}`);
    pasted = { pid, text, leave: leave ?? "anything", atMs: nowMs() };
    if (pasted.leave === "anything") return;
    if (knew("deciding", ["true"])) fail(`typed into a question: ${JSON.stringify(text)}`);
    if (knew("drafting", ["true"])) fail(`typed into a draft: ${JSON.stringify(text)}`);
    if (leave === "turn_boundary" && knew("busy", ["true"])) {
      fail(`typed into a busy agent: ${JSON.stringify(text)}`);
    }
  }

  function cameUpSince(ms: number): boolean {
    const fact = since.get("deciding");
    return fact !== undefined && fact.sinceMs >= ms;
  }

  function press(name: string): void {
    if (name === "C-u") pasted = null;
    if (name !== "Enter") return;
    if (pasted?.leave !== "anything" && knew("deciding", ["true"])) fail("answered a question by Enter");
    pasted = null;
  }

  return {
    observe,
    looked: (pid) => void looks.set(pid, [...(looks.get(pid) ?? []).slice(1 - maxLooks), nowMs()]),
    typed(pid, typed, sentMs) {
      observe();
      lookedMs = looks.get(pid)?.findLast((atMs) => atMs <= sentMs) ?? null;
      if (lookedMs === null || nowMs() - lookedMs > freshMs) fail(`typed ${typed.kind} without a look`);
      if (knew("program", ["shell", "foreign", "none"])) {
        fail(`typed ${typed.kind} into a ${since.get("program")?.value}`);
      }
      if (typed.kind === "paste") paste(pid, typed.text);
      if (typed.kind === "key") press(typed.name);
    },
    readySinceMs: () => readySinceMs,
    draftSinceMs: () => since.get("drafting")?.sinceMs ?? 0,
    instanceId: () => instanceOf(deps.session()),
  };
}

function instanceOf(session: SimSession | null): string | null {
  if (!session) return null;
  return `tmux-${session.created}-${session.id}-${session.paneId}-${session.panePid}`;
}
