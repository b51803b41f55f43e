import { Value } from "@sinclair/typebox/value";
import type { Manifest } from "../../protocol/files.ts";
import type { Execution } from "../../protocol/gateway.ts";
import type { TurnModel, TurnRequest, TurnSession } from "../../protocol/turn-files.ts";
import { DisplayDetail, DisplayStyle } from "../../protocol/turns.ts";
import { instanceMarkOf } from "./chat-session.ts";

/**
 * Model and reasoning level of one turn: what the request says, each part alone, before what the launch said; null
 * when neither says anything. Pure. Source: contract 4.2 rule 7.
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
  };
}

/** The role that the session was launched with, where it has one; `system_prompt` is no key we check. */
function rolePromptOf(manifest: Manifest): string | null {
  const { system_prompt: role } = manifest as { system_prompt?: { text?: unknown } | null };
  return typeof role?.text === "string" && role.text.trim() !== "" ? role.text : null;
}
