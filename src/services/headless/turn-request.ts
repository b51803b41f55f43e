import { Value } from "@sinclair/typebox/value";
import { AcpLaunch } from "../../protocol/acp-launch.ts";
import type { Manifest } from "../../protocol/files.ts";
import type { ChatSession, Execution } from "../../protocol/gateway.ts";
import {
  DisplayDetail,
  DisplayStyle,
  type TurnModel,
  type TurnRequest,
  type TurnSession,
} from "../../protocol/turn-files.ts";
import type { HeadlessChatSession, StartupDefault } from "../../protocol/turns.ts";
import { acpBackend } from "../sessions/names.ts";

type ChatChoice =
  | { ok: true; session: TurnSession; consumesOverride: boolean }
  | { ok: false; detail: string };

/**
 * The conversation that a prompt belongs to. Open (`auto`, or nothing said): for a direct prompt a pending
 * override, then the pinned one, then what the session was started with. `current` fails when none is pinned.
 * Pure. Source: contract 3.5, 4.3.
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

/**
 * What identifies this instance of the agent in its manifest; a relaunch changes it. Null when the manifest
 * has none.
 */
export function instanceMarkOf(manifest: Manifest): string | null {
  const { life } = headlessOf(manifest);
  return typeof life === "string" ? life : null;
}

/**
 * Model and reasoning level of one turn: what the request says, each part alone, before what the launch said;
 * null when neither says anything. Pure. Source: contract 4.2 rule 7.
 */
export function toModel(manifest: Manifest, execution: Execution | undefined): TurnModel | null {
  const { headless_model: name, headless_reasoning_level: level } = manifest.launch_plan.metadata;
  const asked = execution?.model;
  const model: TurnModel = {
    name: asked?.name ?? (typeof name === "string" ? name : null),
    level: asked?.reasoning?.level ?? (typeof level === "number" ? level : null),
  };
  return model.name === null && model.level === null ? null : model;
}

/** All that a bridge needs for a turn, from the manifest and the request. Pure. */
export function toTurnRequest(facts: {
  manifest: Manifest;
  turnId: string;
  turnIndex: number;
  requestId: string | null;
  requestedAtUtc: string;
  prompt: string;
  session: TurnSession;
  execution: Execution | undefined;
}): TurnRequest {
  const { manifest, session } = facts;
  const { launch_plan: plan } = manifest;
  const { headless_display_style: style, headless_display_detail: detail } = plan.metadata;
  const acp = acpLaunchOf(manifest);
  return {
    schema_version: 1,
    turn_id: facts.turnId,
    turn_index: facts.turnIndex,
    tracked_agent_id: manifest.runtime.session_id,
    request_id: facts.requestId,
    requested_at_utc: facts.requestedAtUtc,
    life: instanceMarkOf(manifest),
    tool: manifest.tool,
    executable: plan.executable,
    args: [...plan.args],
    working_directory: plan.working_directory,
    role_prompt: rolePromptOf(manifest),
    prompt: facts.prompt,
    session,
    model: toModel(manifest, facts.execution),
    display_style: Value.Check(DisplayStyle, style) ? style : "plain",
    display_detail: Value.Check(DisplayDetail, detail) ? detail : "concise",
    ...(acp ? { acp } : {}),
  };
}

/** How the session's ACP agent is run; null for every other session. */
export function acpLaunchOf({ backend, launch_plan }: Manifest): AcpLaunch | null {
  if (backend !== acpBackend) return null;
  const { acp } = launch_plan.metadata;
  return Value.Check(AcpLaunch, acp) ? acp : { mode: null, policy: [] };
}

/** The role that the session was launched with, where it has one; `system_prompt` is no key we check. */
function rolePromptOf(manifest: Manifest): string | null {
  const { system_prompt: role } = manifest as { system_prompt?: { text?: unknown } | null };
  return typeof role?.text === "string" && role.text.trim() !== "" ? role.text : null;
}
