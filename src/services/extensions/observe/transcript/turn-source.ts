import type {
  TranscriptSource,
  TranscriptStatus,
  TranscriptToolCall,
} from "../../../../protocol/transcript.ts";
import type { TokenUsage } from "../../../../protocol/usage.ts";
import { createUsageFold, type UsageCount } from "../../../headless/turn-usage.ts";
import type { PromptKey } from "../../../terminal/keys.ts";

/**
 * What one line or row of a tool's record says, whatever the tool's own form for it is. `atMs`: null without
 * a time.
 */
export type TurnItem =
  /**
   * A person or program asked: a turn begins. `own`: the tool itself began it, and the text is its notice.
   */
  | { kind: "prompt"; text: string; own?: true; atMs: number | null }
  /** `key`: a later text of the same key takes this one's place; null for a text that nothing replaces. */
  | { kind: "text"; text: string; key: string | null; atMs: number | null }
  | { kind: "tool_call"; id: string | null; name: string; input: unknown; atMs: number | null }
  | { kind: "tool_result"; id: string | null; ok: boolean | null; output: string; atMs: number | null }
  | ({ kind: "usage"; atMs: number | null } & UsageCount)
  /** Counts that follow are of this model. */
  | { kind: "model"; model: string; atMs: number | null }
  | { kind: "end"; status: Exclude<TranscriptStatus, "running">; error: string | null; atMs: number | null };

/** A turn as its items describe it, uncut but for its tool calls. */
export interface WholeTurn {
  prompt: string | null;
  /** The tool began it by itself. */
  own?: true;
  answer: string | null;
  remarks: string[];
  toolCalls: TranscriptToolCall[];
  toolCallsOmitted: number;
  status: TranscriptStatus;
  error: string | null;
  startedMs: number | null;
  endedMs: number | null;
  /** Empty where the source counts no tokens. */
  usage: TokenUsage[];
}

const maxShown = 2000;
const maxCalls = 200;
const maxRemarks = 200;

/** Items of one turn in their order, its prompt first. */
interface TurnFold {
  add(item: TurnItem): void;
  /** `over`: nothing can follow, so a turn without a reported end is no longer running. */
  turn(options: { over: boolean }): WholeTurn;
}

/**
 * The answer is what the model said after its last tool call. New words after a reported end reopen the turn,
 * but for one that was interrupted: a hook of the person may have kept the tool from stopping, and a tool
 * goes on after an error that it survived. `model`: which the source named before the prompt. Pure.
 */
export function createTurnFold(model: string | null = null): TurnFold {
  type Said = { kind: "text"; text: string; key: string | null };
  type Called = { kind: "call"; id: string | null; call: TranscriptToolCall };
  const parts: (Said | Called)[] = [];
  const usage = createUsageFold(model);
  let prompt: string | null = null;
  let isOwn = false;
  let startedMs: number | null = null;
  let lastMs: number | null = null;
  let end: Extract<TurnItem, { kind: "end" }> | null = null;

  function say(item: Extract<TurnItem, { kind: "text" }>): void {
    const said: Said = { kind: "text", text: item.text, key: item.key };
    const earlier = parts.find((part) => part.kind === "text" && part.key !== null && part.key === item.key);
    // A text that is written again after its error is no sign that the turn survived it.
    if (end?.status === "completed" || (end?.status === "failed" && !earlier)) end = null;
    if (earlier?.kind === "text") earlier.text = item.text;
    else parts.push(said);
  }

  function finishCall({ id, ok, output }: Extract<TurnItem, { kind: "tool_result" }>): void {
    const called = parts.findLast((part) => part.kind === "call" && (id === null || part.id === id));
    if (called?.kind !== "call") return;
    called.call.output = shown(output);
    called.call.status = ok === null ? "unknown" : ok ? "ok" : "failed";
  }

  return {
    add(item) {
      lastMs = item.atMs ?? lastMs;
      switch (item.kind) {
        case "prompt":
          isOwn ||= item.own === true && prompt === null;
          prompt = prompt === null || prompt === item.text ? item.text : `${prompt}\n${item.text}`;
          startedMs ??= item.atMs;
          return;
        case "text":
          if (item.text !== "") say(item);
          return;
        case "tool_call": {
          end = null;
          if (parts.some((part) => part.kind === "call" && item.id !== null && part.id === item.id)) return;
          const input = shown(typeof item.input === "string" ? item.input : JSON.stringify(item.input ?? {}));
          parts.push({
            kind: "call",
            id: item.id,
            call: { name: item.name.slice(0, 200), input, output: null, status: "running" },
          });
          return;
        }
        case "tool_result":
          return finishCall(item);
        case "usage":
          return usage.add(item);
        case "model":
          return usage.useModel(item.model);
        case "end":
          // The first that failed or was interrupted remains, unless the turn went on.
          end = end === null || end.status === "completed" || end.status === "unknown" ? item : end;
          return;
      }
    },
    turn({ over }) {
      const texts = parts.flatMap((part, index) =>
        part.kind === "text" ? [{ text: part.text, index }] : [],
      );
      const lastCall = parts.findLastIndex((part) => part.kind === "call");
      const after = texts.filter(({ index }) => index > lastCall);
      const wordless = end === null ? over : end.status === "completed";
      const answering = after.length > 0 || !wordless ? after : texts.slice(-1);
      const first = answering[0]?.index ?? parts.length;
      const calls = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []));
      const status = end?.status ?? (over ? "unknown" : "running");
      return {
        prompt,
        ...(isOwn ? { own: true } : {}),
        answer: answering.length === 0 ? null : answering.map(({ text }) => text).join("\n\n"),
        remarks: texts
          .filter(({ index }) => index < first)
          .slice(-maxRemarks)
          .map(({ text }) => shown(text)),
        toolCalls: calls.slice(-maxCalls),
        toolCallsOmitted: Math.max(0, calls.length - maxCalls),
        status,
        error: end?.error ?? null,
        startedMs,
        endedMs: status === "running" ? null : (end?.atMs ?? lastMs),
        usage: usage.list(),
      };
    },
  };
}

function shown(text: string): string {
  return text.length <= maxShown ? text : `${text.slice(0, maxShown - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Where a turn begins, as far as a page must know to choose it. */
export interface TurnHead {
  turnId: string;
  startedMs: number | null;
  /** Null for a turn whose prompt is not known. */
  promptKey: PromptKey | null;
  /** The tool began it by itself: it belongs to no request. */
  own?: true;
}

/** A turn with where it was read. */
export interface ReadTurn extends WholeTurn {
  turnId: string;
  source: TranscriptSource;
  /** Where, as a clause for people, without a path of the machine. */
  evidence: string;
  conversationId: string | null;
  /** Not all of the answer could be read. */
  cut: boolean;
  /** Of a turn that was a process or a turn of an ACP agent. */
  headless?: { requestId: string | null; acp: boolean };
}

/** One conversation, or all headless turns of a session: whatever keeps its turns in one order. */
export interface TurnSource {
  /** Oldest first, as of now. Never rejects for a file that is missing or damaged: `gap` says so. */
  heads(): Promise<readonly TurnHead[]>;
  /** Null when the turn is there no more. `last`: no source has a later turn, so it may still run. */
  read(turnId: string, options: { last: boolean }): Promise<ReadTurn | null>;
  /** Why some of it could not be read at the last look, as a sentence; null when all could. */
  gap(): string | null;
  /** Lines that were skipped at the last look. */
  damagedLines(): number;
}

/** Where the turns of one agent are read. */
export interface SessionTurns {
  /** The oldest first. */
  all(): readonly TurnSource[];
  /** Where tokens are counted: the same, or the newest turns of an agent that has many. */
  counted(): readonly TurnSource[];
}
