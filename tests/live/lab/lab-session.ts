import { expect } from "bun:test";
import { existsSync } from "node:fs";
import type { PromptPayload, RequestRecord } from "../../../src/protocol/gateway.ts";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import type { ReceivedRequest } from "../../support/model-server/records.ts";
import { type ModelServer, type Part, startModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import type { Labels } from "../../unit/terminal/corpus.ts";
import type { InstalledCli, LabTool } from "./cli-cache.ts";
import { currentInstanceFile, type LabGateway, startLabGateway } from "./lab-gateway.ts";
import type { Recorder } from "./recorder.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import type { Stage } from "./staged-steps.ts";

/** One running agent with its gateway and its scripted model. */
export interface LabSession extends Stage {
  tool: LabTool;
  model: ModelServer;
  box: Sandbox;
  gateway: LabGateway;
  /** Submits a prompt to the queue and returns its id; anything but 202 fails. */
  queue(prompt: string, delivery?: NonNullable<PromptPayload["delivery"]>): Promise<string>;
  interrupt(): Promise<string>;
  /** The first turn that reached the model after the first `seen` requests. */
  nextTurn(seen: number, timeoutMs?: number): Promise<ReceivedRequest>;
  /** Turns that reached the model after the first `seen` requests. */
  turnsSince(seen: number): ReceivedRequest[];
  /** The state once it satisfies `holds`. */
  stateWhen(
    what: string,
    holds: (state: TerminalState) => boolean,
    timeoutMs?: number,
  ): Promise<TerminalState>;
  requestWhen(
    requestId: string,
    what: string,
    holds: (record: RequestRecord) => boolean,
    timeoutMs?: number,
  ): Promise<RequestRecord>;
  isReady(): Promise<TerminalState>;
  /** Records the agent's screen as `name` and fails when it reads differently than `labels` say. */
  shows(name: string, labels: Labels): Promise<void>;
}

export interface SessionSettings {
  /** The tool knows the working folder already and asks nothing about it. */
  trusted: boolean;
  /** The tool asks for no permission. */
  unattended?: boolean;
  /** The tool shows as few signs of work as a user can ask for. */
  fewSigns?: boolean;
  /** What the model plays instead of its directives. */
  part?: Part;
}

/**
 * For hangs only: at a load of 30 on two cores opencode 1.18.27 took 55 s from its start to its first frame.
 */
const hangMs = 110_000;

export async function openLabSession(
  cli: InstalledCli,
  recorder: Recorder,
  settings: SessionSettings,
): Promise<LabSession> {
  const model = startModelServer(settings.part ? { part: settings.part } : {});
  const box = createSandbox(cli, model.url, {
    trusted: settings.trusted,
    unattended: settings.unattended ?? false,
    fewSigns: settings.fewSigns ?? false,
  });
  const gateway = await startLabGateway(cli, box).catch(async (error) => {
    await box[Symbol.asyncDispose]();
    await model.stop();
    throw error;
  });
  const submit = async (request: Parameters<LabGateway["submit"]>[0]) => {
    const { status, body } = await gateway.submit(request);
    expect([status, body]).toEqual([202, expect.objectContaining({ state: "accepted" })]);
    return body.request_id;
  };
  const isTurn = (request: ReceivedRequest) => request.purpose === "turn" && !request.tool_answered;
  const session: LabSession = {
    tool: cli.tool,
    model,
    box,
    gateway,
    queue: (prompt, delivery = "turn_boundary") =>
      submit({ schema_version: 1, kind: "submit_prompt", payload: { prompt, delivery } }),
    interrupt: () => submit({ schema_version: 1, kind: "interrupt", payload: {} }),
    nextTurn: (seen, timeoutMs = hangMs) =>
      model.next((request) => request.sequence > seen && isTurn(request), timeoutMs),
    turnsSince: (seen) => model.received().filter((request) => request.sequence > seen && isTurn(request)),
    stateWhen: (what, holds, timeoutMs = hangMs) =>
      until(`state: ${what}`, () => look(gateway.state, holds), timeoutMs),
    requestWhen: (requestId, what, holds, timeoutMs = hangMs) =>
      until(`request: ${what}`, () => look(() => gateway.request(requestId), holds), timeoutMs),
    isReady: () =>
      session.stateWhen("ready", (state) => state.surface.ready_posture === "yes" && isIdle(state)),
    shows: (name, labels) => recorder.record({ box, session: gateway.ready.tmux_session_name, name, labels }),
    account: () => accountOf(session),
    end: () => endSession(session),
  };
  return session;
}

export function isIdle(state: TerminalState): boolean {
  return (
    state.turn.phase === "ready" &&
    state.surface.editing_input === "no" &&
    state.surface.accepting_input === "yes" &&
    state.stability.stable &&
    // A version that the profile was not proved on is given a prompt when a second witness is there.
    state.second_witness?.by !== null
  );
}

async function endSession({ gateway, box, model }: LabSession): Promise<void> {
  const exitCode = await gateway.stop();
  const recordLeft = existsSync(currentInstanceFile(gateway.ready));
  box.tmux("kill-server");
  await box[Symbol.asyncDispose]();
  await model.stop();
  expect({ exitCode, recordLeft, processes: box.processes() }).toEqual({
    exitCode: 0,
    recordLeft: false,
    processes: [],
  });
}

async function accountOf({ gateway, model }: LabSession): Promise<string> {
  const attempt = async (what: string, tell: () => unknown) => {
    try {
      const told = await tell();
      return `${what}:\n${typeof told === "string" ? told : JSON.stringify(told, null, 1)}`;
    } catch (error) {
      return `${what}: ${error}`;
    }
  };
  const requests = model.received().map((request) => {
    const text = request.newest_user_text.slice(-80);
    return `#${request.sequence} ${request.purpose} ${request.outcome} ${JSON.stringify(text)}`;
  });
  return (
    await Promise.all([
      attempt("screen", gateway.screen),
      attempt("state", async () => {
        const { surface, turn, last_turn, stability, parsed_surface, diagnostics, recent_transitions } =
          await gateway.state();
        const transitions = recent_transitions.map((item) => `${item.recorded_at_utc} ${item.summary}`);
        const { normalized_projection_text: _, ...parsed } = parsed_surface ?? {};
        return { surface, turn, last_turn, stability, parsed, diagnostics, transitions };
      }),
      attempt("newest requests", async () => (await gateway.requests()).requests.slice(0, 3)),
      attempt("status", gateway.status),
      attempt("model received", () => requests.slice(-12).join("\n")),
      attempt("gateway said", gateway.complaints),
    ])
  ).join("\n\n");
}

/** One look over HTTP, at most some 25 a second: the gateway is what is under test, not its load. */
async function look<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T | null> {
  const value = await read();
  if (holds(value)) return value;
  await Bun.sleep(30);
  return null;
}
