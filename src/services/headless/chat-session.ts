import type { Manifest } from "../../protocol/files.ts";
import type { ChatSession } from "../../protocol/gateway.ts";
import type { TurnSession } from "../../protocol/turn-files.ts";
import type { HeadlessChatSession, StartupDefault } from "../../protocol/turns.ts";

export type ChatChoice =
  | { ok: true; session: TurnSession; consumesOverride: boolean }
  | { ok: false; detail: string };

/**
 * The conversation that a prompt belongs to. Open (`auto`, or nothing said): for a direct prompt a pending override,
 * then the pinned one, then what the session was started with. `current` fails when none is pinned. Pure. Source:
 * contract 3.5, 4.3.
 */
export function resolveChatSession(facts: {
  wanted: ChatSession | undefined;
  /** Not from the queue. */
  direct: boolean;
  state: HeadlessChatSession;
}): ChatChoice {
  const { wanted, direct, state } = facts;
  const choose = (session: TurnSession, consumesOverride = false): ChatChoice => ({
    ok: true,
    session,
    consumesOverride,
  });
  const mode = wanted?.mode ?? "auto";
  switch (mode) {
    case "new":
    case "tool_last_or_new":
      return choose({ mode });
    case "exact":
      return wanted?.id === undefined
        ? { ok: false, detail: "chat_session.mode exact needs an id" }
        : choose({ mode, id: wanted.id });
    case "current":
      return state.current
        ? choose({ mode: "exact", id: state.current.id })
        : { ok: false, detail: "no conversation of the tool is pinned yet" };
    case "auto": {
      if (direct && state.next_prompt_override) return choose({ mode: "new" }, true);
      if (state.current) return choose({ mode: "exact", id: state.current.id });
      return choose(fromDefault(state.startup_default));
    }
  }
}

function fromDefault({ mode, id }: StartupDefault): TurnSession {
  if (mode !== "exact") return { mode };
  return id === undefined ? { mode: "new" } : { mode, id };
}

/** What a manifest says of the conversation; keys of `headless` that are missing or odd count as unset. */
export function toChatSession(manifest: Manifest, override: boolean): HeadlessChatSession {
  const { session_id, resume_selection_kind, resume_selection_value } = headlessOf(manifest);
  return {
    current: typeof session_id === "string" && session_id !== "" ? { id: session_id } : null,
    startup_default: toStartupDefault(resume_selection_kind, resume_selection_value),
    next_prompt_override: override ? { mode: "new" } : null,
  };
}

function toStartupDefault(kind: unknown, value: unknown): StartupDefault {
  if (kind === "last") return { mode: "tool_last_or_new" };
  if (kind === "exact" && typeof value === "string" && value !== "") return { mode: "exact", id: value };
  return { mode: "new" };
}

/** The `headless` object of a manifest as we keep it. */
interface HeadlessRecord {
  session_id?: unknown;
  turn_index?: unknown;
  resume_selection_kind?: unknown;
  resume_selection_value?: unknown;
  life?: unknown;
}

function headlessOf(manifest: Manifest): HeadlessRecord {
  return (manifest.headless ?? {}) as HeadlessRecord;
}

/** The index of the newest turn that was provisioned; 0 when none was. */
export function turnIndexOf(manifest: Manifest): number {
  const index = headlessOf(manifest).turn_index;
  return typeof index === "number" && Number.isInteger(index) ? index : 0;
}

/** What identifies this instance of the agent in its manifest; a relaunch changes it. Null when the manifest has none. */
export function instanceMarkOf(manifest: Manifest): string | null {
  const { life } = headlessOf(manifest);
  return typeof life === "string" ? life : null;
}
