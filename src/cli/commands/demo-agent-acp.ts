import { parseArgs } from "node:util";
import {
  type HeadlessFacts,
  type HeadlessPlan,
  type HeadlessSession,
  type HeadlessStep,
  planHeadlessTurn,
} from "../../services/demo/headless-turn.ts";
import { type Fields, fieldsOf, itemsOf, textOf } from "../../services/headless/json-fields.ts";
import { createClock, sleep, toTimestamp } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { createFiles } from "../../system/files.ts";
import { createIds } from "../../system/ids.ts";
import { quietSteps } from "../../system/steps.ts";
import type { CliIo } from "../command-line/command.ts";
import { createProcessIo } from "../command-line/process-io.ts";
import { type AgentOptions, openSession, saveSession, toAgentOptions } from "./demo-agent-headless.ts";

/** A turn that runs, and what cancels it. */
interface Turn {
  cancelled: AbortController;
}

/**
 * The scripted agent over ACP, protocol 1, written without the library that its clients use. Conversations
 * are the files of the headless form. Ends with its standard input, code 0; 2 for wrong arguments.
 */
export async function runAcpDemoAgent(
  argv: string[],
  plan: (facts: HeadlessFacts) => HeadlessPlan = planHeadlessTurn,
): Promise<number> {
  const io = createProcessIo();
  let options: AgentOptions;
  try {
    options = parseOptions(argv, io);
  } catch (error) {
    await io.writeError(`demo-agent: ${messageOf(error)}\n`).catch(() => {});
    return 2;
  }
  return serve(options, plan);
}

function parseOptions(argv: string[], io: CliIo): AgentOptions {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: argv,
    strict: true,
    options: { acp: { type: "boolean" }, state: text, log: text, speed: { ...text, default: "1" } },
  });
  return toAgentOptions(values, io);
}

async function serve(
  { stateFolder, logPath, speed }: AgentOptions,
  planTurn: (facts: HeadlessFacts) => HeadlessPlan,
): Promise<number> {
  const clock = createClock();
  const ids = createIds();
  const files = createFiles({ ids, steps: quietSteps });
  const turns = new Map<string, Turn>();
  const open = new Map<string, HeadlessSession>();
  const asked = new Map<number, (result: Fields) => void>();
  let lastAsked = 0;
  files.ensureDirectory("demo.state", stateFolder);

  const send = (message: object) =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const update = (sessionId: string, fields: object) =>
    send({ method: "session/update", params: { sessionId, update: fields } });
  const text = (words: string) => ({ type: "text", text: words });

  function request(method: string, params: object): Promise<Fields> {
    lastAsked += 1;
    const id = lastAsked;
    send({ id, method, params });
    return new Promise((answered) => void asked.set(id, answered));
  }

  function load(id: string): HeadlessSession | null {
    const known = openSession({ resume: { mode: "exact", id }, stateFolder }, { files, ids });
    if (known) open.set(id, known);
    return known;
  }

  async function ask(
    sessionId: string,
    what: string,
    turn: Turn,
  ): Promise<"allowed" | "refused" | "cancelled"> {
    const toolCallId = `call_${lastAsked + 1}`;
    const call = { toolCallId, title: what, kind: "execute", status: "pending", rawInput: { command: what } };
    update(sessionId, { sessionUpdate: "tool_call", ...call });
    const answer = await request("session/request_permission", {
      sessionId,
      toolCall: call,
      options: [
        { optionId: "always", name: "Always allow", kind: "allow_always" },
        { optionId: "once", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    });
    const outcome = fieldsOf(answer["outcome"]);
    const allowed = outcome["optionId"] === "once" || outcome["optionId"] === "always";
    const status = allowed ? "completed" : "failed";
    const content = [{ type: "content", content: text(allowed ? `${what}: done` : `${what}: refused`) }];
    update(sessionId, { sessionUpdate: "tool_call_update", toolCallId, status, content });
    if (turn.cancelled.signal.aborted || outcome["outcome"] === "cancelled") return "cancelled";
    return allowed ? "allowed" : "refused";
  }

  async function prompt(id: unknown, sessionId: string, params: Fields): Promise<void> {
    const said = itemsOf(params["prompt"])
      .map((block) => textOf(fieldsOf(block)["text"]) ?? "")
      .join("\n");
    const before = open.get(sessionId);
    if (!before) return void send({ id, error: { code: -32602, message: "no such conversation" } });
    const session = { ...before, turns: before.turns + 1 };
    open.set(sessionId, session);
    saveSession(files, stateFolder, session);
    if (logPath !== null) {
      const run = { pid: process.pid, session_id: sessionId, turn: session.turns, prompt: said };
      files.append("demo.log", logPath, `${JSON.stringify(run)}\n`);
    }
    const plan = planTurn({ prompt: said, session, model: null, effort: null });
    const turn: Turn = { cancelled: new AbortController() };
    turns.set(sessionId, turn);
    let stopReason: string | null = null;
    for (const step of plan.steps) {
      if (turn.cancelled.signal.aborted) stopReason = "cancelled";
      if (stopReason !== null) break;
      const outcome = await perform(step, sessionId, turn);
      if (outcome === "cancelled") stopReason = "cancelled";
      if (outcome === "refused") stopReason = "end_turn";
      if (outcome !== null && typeof outcome === "object") {
        turns.delete(sessionId);
        return void send({ id, ...outcome });
      }
    }
    turns.delete(sessionId);
    if (plan.exitCode !== 0) process.exit(plan.exitCode);
    send({ id, result: { stopReason: stopReason ?? "end_turn" } });
  }

  async function perform(
    step: HeadlessStep,
    sessionId: string,
    turn: Turn,
  ): Promise<"allowed" | "refused" | "cancelled" | { result: object } | { error: object } | null> {
    switch (step.kind) {
      case "record":
        return report(step.record, sessionId);
      case "wait":
        await sleep(clock, step.ms / speed, turn.cancelled.signal);
        return turn.cancelled.signal.aborted ? "cancelled" : null;
      case "warning":
        process.stderr.write(`${step.text}\n`);
        return null;
      case "ask":
        return ask(sessionId, step.what, turn);
      case "act":
        await step.act();
        return null;
      case "save":
        open.set(sessionId, step.session);
        saveSession(files, stateFolder, step.session);
        return null;
    }
  }

  function report(record: Fields, sessionId: string): { result: object } | { error: object } | null {
    const words = textOf(record["text"]) ?? "";
    const toolCallId = textOf(record["action_id"]) ?? "";
    switch (record["type"]) {
      case "piece":
        update(sessionId, { sessionUpdate: "agent_message_chunk", content: text(words) });
        return null;
      case "thought":
        update(sessionId, { sessionUpdate: "agent_thought_chunk", content: text(words) });
        return null;
      case "action": {
        const call = { toolCallId, title: textOf(record["name"]) ?? "tool", kind: "other" };
        update(sessionId, {
          sessionUpdate: "tool_call",
          ...call,
          status: "in_progress",
          rawInput: record["arguments"],
        });
        return null;
      }
      case "action_done": {
        const content = [{ type: "content", content: text(textOf(record["output"]) ?? "") }];
        update(sessionId, { sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
        return null;
      }
      case "end": {
        if (record["status"] !== "success") {
          return { error: { code: -32603, message: textOf(record["error"]) ?? "failed" } };
        }
        const { input_tokens: input, output_tokens: output } = fieldsOf(record["usage"]);
        const [inputTokens, outputTokens] = [Number(input ?? 0), Number(output ?? 0)];
        const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
        return { result: { stopReason: "end_turn", usage } };
      }
      default:
        return null;
    }
  }

  function handle(message: Fields): void {
    const { id, method } = message;
    const params = fieldsOf(message["params"]);
    const sessionId = textOf(params["sessionId"]) ?? "";
    const missing = () => send({ id, error: { code: -32002, message: "no such conversation" } });
    switch (method) {
      case undefined:
        asked.get(Number(id))?.(fieldsOf(message["result"]));
        asked.delete(Number(id));
        return;
      case "initialize":
        send({
          id,
          result: {
            protocolVersion: 1,
            agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {} } },
            agentInfo: { name: "demo", version: "1" },
            authMethods: [],
          },
        });
        return;
      case "session/new": {
        const session: HeadlessSession = { session_id: ids.uuid(), turns: 0, remembered: [] };
        open.set(session.session_id, session);
        saveSession(files, stateFolder, session);
        send({ id, result: { sessionId: session.session_id } });
        return;
      }
      case "session/load":
      case "session/resume": {
        const known = load(sessionId);
        if (!known) {
          missing();
          return;
        }
        // As real agents do: all of it is old.
        if (method === "session/load") {
          update(sessionId, { sessionUpdate: "user_message_chunk", content: text("an earlier prompt") });
          update(sessionId, { sessionUpdate: "agent_message_chunk", content: text("an earlier answer") });
        }
        send({ id, result: {} });
        return;
      }
      case "session/list": {
        const session = openSession({ resume: { mode: "last" }, stateFolder }, { files, ids });
        const known = session && session.turns > 0 ? [session] : [];
        const facts = { cwd: textOf(params["cwd"]) ?? process.cwd(), updatedAt: toTimestamp(clock.nowMs()) };
        send({
          id,
          result: { sessions: known.map(({ session_id }) => ({ sessionId: session_id, ...facts })) },
        });
        return;
      }
      case "session/prompt":
        prompt(id, sessionId, params).catch((error: unknown) =>
          send({ id, error: { code: -32603, message: messageOf(error) } }),
        );
        return;
      case "session/cancel": {
        const turn = turns.get(sessionId);
        turn?.cancelled.abort();
        return;
      }
      default:
        if (id !== undefined) send({ id, error: { code: -32601, message: "no such method" } });
    }
  }

  let rest = "";
  for await (const piece of process.stdin.setEncoding("utf8")) {
    const lines = `${rest}${piece}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") handle(fieldsOf(JSON.parse(line)));
  }
  return 0;
}
