/**
 * The plugin that opencode loads from the session's folder. It runs inside the tool, hence writes the spool's lines itself:
 * the same record as the hook command, whose limits and order of fields it keeps. It throws nothing.
 */
export function opencodePlugin(spool: string): string {
  return `import { createHash, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

const spool = ${JSON.stringify(spool)};
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function append(line) {
  const handle = openSync(spool, flags, 0o600);
  try {
    const facts = fstatSync(handle);
    const own = facts.isFile() && (facts.mode & 0o022) === 0;
    if (own && facts.size < 8 * 1024 * 1024) writeSync(handle, line);
  } finally {
    closeSync(handle);
  }
}

function report(kind, facts) {
  try {
    const prompt = facts.prompt ?? null;
    const cut = (text, length) => (typeof text === "string" ? text.slice(0, length).toWellFormed() : null);
    const record = {
      schema_version: 1,
      id: randomUUID(),
      tool: "opencode",
      kind,
      at_ms: Date.now(),
      session_id: facts.session ?? null,
      turn_id: facts.turn ?? null,
      prompt: cut(prompt, 8000),
      prompt_sha256: prompt === null ? null : createHash("sha256").update(prompt).digest("hex"),
      message: cut(facts.message, 2000),
      action: cut(facts.action, 200),
      transcript_path: null,
    };
    append("\\n" + JSON.stringify(record) + "\\n");
  } catch {}
}

export const SvcSignals = async () => {
  const helpers = new Set();
  const turns = new Map();
  const failures = new Map();
  return {
    event: async ({ event }) => {
      const facts = event.properties ?? {};
      const session = facts.sessionID ?? facts.info?.id;
      if (event.type === "session.created" || event.type === "session.updated") {
        if (facts.info?.parentID) helpers.add(facts.info.id);
        if (event.type === "session.created" && !facts.info?.parentID) report("session_started", { session });
        return;
      }
      if (helpers.has(session)) return;
      const turn = turns.get(session);
      if (event.type === "session.error") {
        failures.set(session, String(facts.error?.data?.message ?? facts.error?.name ?? "error"));
      } else if (event.type === "session.idle" && turn !== undefined) {
        const failure = failures.get(session);
        failures.delete(session);
        turns.delete(session);
        if (failure === undefined) report("turn_ended", { session, turn });
        else report("turn_failed", { session, turn, message: failure });
      } else if (event.type === "permission.asked" || event.type === "permission.updated") {
        const patterns = Array.isArray(facts.patterns) ? facts.patterns.join("\\n") : null;
        const message = facts.title ?? patterns;
        report("question_asked", { session, turn, action: facts.permission ?? facts.type, message });
      }
    },
    "chat.message": async (input, output) => {
      if (helpers.has(input.sessionID)) return;
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      // After a failure it says twice that it is idle: the second is no end of a turn.
      turns.set(input.sessionID, output.message?.id ?? null);
      const prompt = texts.map((part) => part.text).join("\\n");
      report("prompt_submitted", { session: input.sessionID, turn: output.message?.id, prompt });
    },
    "tool.execute.before": async (input) => {
      if (helpers.has(input.sessionID)) return;
      report("tool_started", { session: input.sessionID, turn: turns.get(input.sessionID), action: input.tool });
    },
    "tool.execute.after": async (input) => {
      if (helpers.has(input.sessionID)) return;
      report("tool_finished", { session: input.sessionID, turn: turns.get(input.sessionID), action: input.tool });
    },
  };
};
`;
}
