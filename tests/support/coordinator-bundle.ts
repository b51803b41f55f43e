import { type Fleet, openCoordinator } from "../../src/cli/coordinator/coordinator-services.ts";
import type { CoordinatorPart } from "../../src/cli/extension.ts";
import type { AgentState, AgentStateDetail, AgentSubmission } from "../../src/protocol/agents.ts";
import type { CoordinatorInstance, HeadlessLaunch } from "../../src/protocol/coordinator.ts";
import { coordinatorEndpoints } from "../../src/protocol/coordinator-endpoints.ts";
import type { TurnStatusRecord } from "../../src/protocol/turns.ts";
import { coordinatorConsoleRoutes } from "../../src/routes/console/coordinator.ts";
import { callerGuards, hostRule } from "../../src/routes/http/gate.ts";
import { mount } from "../../src/routes/http/mount.ts";
import { coordinatorObserveRoutes } from "../../src/routes/observe/app.ts";
import type { PersonMail } from "../../src/services/attention/people-mail.ts";
import { createRemoteTerminal } from "../../src/services/extensions/console/remote-terminal.ts";
import { keysIn, sumLedgers } from "../../src/services/extensions/observe/ledger/fleet-ledger.ts";
import { toAttentionFacts } from "../../src/services/fleet/attention-facts.ts";
import {
  toHeadlessDetail,
  toHeadlessHistory,
  toTerminalDetail,
} from "../../src/services/fleet/fleet-view.ts";
import { createGatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { toAgentState } from "../../src/services/fleet/projection.ts";
import { toResolveLive } from "../../src/services/mail/resolve-live.ts";
import type { FoundAgent } from "../../src/services/sessions/find.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { consoleServices } from "./console-services.ts";
import { giveTerminal } from "./fake-terminal.ts";
import { giveTurns } from "./fake-turns.ts";
import { createFakeDirectory, liveLink, noLink, sampleKnown, sampleMailbox } from "./fleet-fakes.ts";
import { createGatewayBundle } from "./gateway-bundle.ts";
import { samplePrices } from "./ledger-fixture.ts";

export type CoordinatorBundle = ReturnType<typeof createCoordinatorBundle>;

const turn: TurnStatusRecord = {
  tracked_agent_id: "demo_headless-1",
  turn_id: "turn-1",
  turn_index: 1,
  status: "completed",
  started_at_utc: "2026-11-21T04:47:00.000+00:00",
  completed_at_utc: "2026-11-21T04:48:00.000+00:00",
  returncode: 0,
  completion_source: "process_exit",
  decided_by: "terminal_event",
  stdout_path: "/sessions/batch/stdout.jsonl",
  stderr_path: null,
  status_path: null,
  history_summary: "said hello",
  error: null,
};

const instance: CoordinatorInstance = {
  schema_version: 1,
  status: "ok",
  pid: 1,
  api_base_url: "http://127.0.0.1:9891",
  server_root: "/runtime/coordinators/127.0.0.1-9891",
  started_at_utc: "2026-11-21T04:47:00.000+00:00",
};

type Session = Pick<FoundAgent, "manifest">;

/**
 * A coordination server over agents in memory. `worker` has a real gateway app, `bare` none; `batch` is
 * headless.
 */
export function createCoordinatorBundle(
  options: {
    token?: string;
    allowedOrigins?: readonly string[];
    /** Instead of one event and one heartbeat. */
    events?: Pick<Fleet["events"], "follow">;
  } = {},
) {
  const gateway = createGatewayBundle();
  const terminal = giveTerminal(gateway.agent);
  giveTurns(gateway.agent);
  const agents = [
    sampleKnown("batch", { sessionId: "demo_headless-1", headless: true }),
    sampleKnown("bare", { sessionId: "local_interactive-2" }),
    sampleKnown("twin", { sessionId: "local_interactive-3", agentId: "id-twin-1" }),
    sampleKnown("twin", { sessionId: "local_interactive-4", agentId: "id-twin-2" }),
    sampleKnown("mailless", { sessionId: "local_interactive-5", mailbox: false }),
    sampleKnown("crossed", { sessionId: "local_interactive-6" }),
    sampleKnown("other", { sessionId: "local_interactive-7", agentId: "crossed" }),
    sampleKnown("worker", { sessionId: "local_interactive-1" }),
  ];
  const directory = createFakeDirectory(agents);
  /** What the services were asked for. */
  const asked: unknown[] = [];
  const faults: unknown[] = [];
  const launched: HeadlessLaunch[] = [];
  /** Unread mail of people; the newest list is what is there. */
  const peopleMail: PersonMail[] = [];
  /** Instead of the gateway's own answers. */
  const answer: { with: ((request: Request) => Promise<Response>) | null } = { with: null };
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, init) => {
      const request = new Request(url, init);
      return answer.with ? answer.with(request) : gateway.app.fetch(request);
    },
  });
  const live = { host: "127.0.0.1", port: 4000, protocol_version: "v1" as const };
  const links = {
    to: async ({ manifest }: Session) =>
      ["worker", "batch", "mailless"].includes(manifest.agent_name) ? liveLink(client) : noLink,
    claims: ({ manifest }: Session) => manifest.agent_name === "worker",
    doubt: () => {},
  };
  const opened = (ref: string) => {
    const agent = directory.resolve(ref);
    if (!agent.found) throw new ServiceError("unavailable", "its manifest is lost");
    return { ...agent, found: agent.found };
  };
  const headlessOnly = (ref: string) => {
    const agent = opened(ref);
    if (agent.identity.transport === "headless") return agent;
    throw new ServiceError("headless_only", "this is a terminal agent");
  };
  const stateOf = (ref: string) => stateOfKnown(opened(ref));
  const stateOfKnown = ({ found, record, identity }: ReturnType<typeof opened>): AgentState => {
    return toAgentState({
      ...found,
      lifecycleState: record.lifecycle.state,
      liveness: "alive",
      programPresent: true,
      status: links.claims(found) ? gateway.board.status() : null,
      terminal: identity.transport === "tui" ? terminal.state : null,
      ...(identity.transport === "headless" ? { turns: { active: null, last: turn } } : {}),
      diagnostics: [],
    });
  };
  const turnOf = (ref: string, turnId: string) => {
    headlessOnly(ref);
    if (turnId !== turn.turn_id) throw new ServiceError("not_found", "no turn with this id");
    return turn;
  };
  const events: Fleet["events"] = {
    position: () => "a-1",
    following: () => 0,
    stop: async () => {},
    async *follow({ after }) {
      asked.push(["follow", after]);
      const nobody = { agent_id: null, agent_name: null, tracked_agent_id: null };
      yield {
        item: "event",
        id: "a-1",
        event: { kind: "agent_seen", at_utc: instance.started_at_utc, ...nobody },
      };
      yield { item: "heartbeat" };
    },
    ...options.events,
  };
  const fleet: Fleet = {
    events,
    people: { unread: async () => [...peopleMail] },
    stopTerminals: async () => {},
    async look({ record, found, identity }) {
      const isServed = found !== null && links.claims(found);
      const { requests } = isServed ? { requests: gateway.queue.list({ limit: 20 }) } : { requests: [] };
      const facts = toAttentionFacts({
        record,
        requests,
        session: "alive",
        programPresent: true,
        trackedId: identity.tracked_agent_id,
        gateway: { state: isServed ? "live" : "none", why: "" },
        status: isServed ? gateway.board.status() : null,
        terminal: isServed ? terminal.state : null,
        nowMs: gateway.clock.nowMs(),
      });
      return { facts, reading: null, turnBeganAtUtc: null };
    },
    view: {
      list: async ({ state }) => ({
        agents: agents
          .filter(({ record }) => state === undefined || record.lifecycle.state === state)
          .map(({ identity }) => ({ ...identity, liveness: "alive" })),
      }),
      identity: async (ref) => directory.resolve(ref).identity,
      identityOf: async ({ identity }) => ({ ...identity, liveness: "alive" }),
      stateOf: async ({ identity }) => stateOf(identity.tracked_agent_id),
      state: async (ref) => stateOf(ref),
      async detail(ref): Promise<AgentStateDetail> {
        const state = stateOf(ref);
        const { tracked_agent_id, identity } = state;
        const detail =
          identity.transport === "tui"
            ? toTerminalDetail(state, terminal.state)
            : toHeadlessDetail({
                state,
                turns: { active: null, last: turn },
                status: null,
                chat: null,
                interruptedAt: () => null,
              });
        return { tracked_agent_id, identity, summary_state: state, detail };
      },
      async history(ref, limit) {
        asked.push(["history", limit]);
        const { identity } = opened(ref);
        return {
          tracked_agent_id: identity.tracked_agent_id,
          entries: toHeadlessHistory([turn]).slice(0, limit),
        };
      },
      async gateway(ref) {
        opened(ref);
        return gateway.board.status();
      },
      async resolveLive(ref) {
        const { found } = opened(ref);
        return toResolveLive(
          sampleMailbox,
          links.claims(found) ? { instance: live, statePath: "/sessions/worker/gateway/state.json" } : null,
        );
      },
    },
    work: {
      async submit(ref, request) {
        const { identity } = opened(ref);
        asked.push(request);
        if (request.request_kind === "submit_prompt" && request.prompt === "REFUSE") {
          return { kind: "refused", status: 409, body: { detail: "the gateway says no" } };
        }
        const body: AgentSubmission = {
          success: true,
          tracked_agent_id: identity.tracked_agent_id,
          request_id: "mreq-00000000000a",
          request_kind: request.request_kind,
          disposition: request.request_kind === "interrupt" ? "no_op" : "accepted",
          detail: "accepted",
        };
        return { kind: "done", body };
      },
      async stop(ref) {
        const { identity } = opened(ref);
        return { success: true, tracked_agent_id: identity.tracked_agent_id, detail: "stopped" };
      },
      async relaunch(ref) {
        const { tracked_agent_id } = opened(ref).identity;
        const done = { in_place: true, request_admission: "open", detail: "started again" } as const;
        return { success: true, tracked_agent_id, ...done };
      },
    },
    turns: {
      async submit(ref, submission) {
        const { tracked_agent_id } = headlessOnly(ref).identity;
        asked.push(submission);
        return {
          kind: "done",
          body: {
            success: true,
            tracked_agent_id,
            turn_id: "turn-1",
            turn_index: 1,
            status: "active",
            detail: "begun",
          },
        };
      },
      read: async (ref, turnId) => turnOf(ref, turnId),
      async events(ref, turnId, after) {
        asked.push(["events", after]);
        return { trackedId: turnOf(ref, turnId).tracked_agent_id, events: [].values() };
      },
      async artifact(ref, turnId, name, part) {
        turnOf(ref, turnId);
        asked.push([name, part]);
        return { pieces: [new TextEncoder().encode(`${name}\n`)], next: null };
      },
      async interrupt(ref) {
        const { tracked_agent_id } = headlessOnly(ref).identity;
        return { success: true, tracked_agent_id, detail: "no turn is running" };
      },
    },
    launches: {
      async launch(wish) {
        launched.push(wish);
        const { identity } = directory.resolve("batch");
        return {
          success: true,
          tracked_agent_id: identity.tracked_agent_id,
          identity,
          manifest_path: "/sessions/batch/manifest.json",
          session_root: "/sessions/batch",
          detail: "it waits for its first turn",
        };
      },
    },
  };
  const log = { line: () => {} };
  const { app } = openCoordinator({ clock: gateway.clock, directory, links, log }, fleet, {
    token: options.token ?? null,
    others: null,
    guards: callerGuards({
      allowsHost: hostRule("127.0.0.1"),
      allowedOrigins: options.allowedOrigins ?? [],
    }),
    faults: { report: (error) => `fault-${faults.push(error)}` },
    server: { instance: () => instance, shutdown: () => void asked.push("shutdown") },
    extensions: [
      ({ sockets, requiresToken }): CoordinatorPart => {
        const console = consoleServices({ clock: gateway.clock, surface: "coordinator", requiresToken });
        return {
          signedIn: console.signIn.accepts,
          routes: [
            ...coordinatorConsoleRoutes({
              console,
              terminals: { of: (ref) => createRemoteTerminal({ directory, links }, ref) },
              sockets,
              screens: {
                async *follow() {
                  yield { item: "heartbeat" };
                },
              },
            }),
            ...coordinatorObserveRoutes({
              ledger: { sum: async ({ by }) => sumLedgers([], { by: keysIn(by), prices: samplePrices }) },
              metrics: {
                scrape: async () => ({ text: "svc_agents 0\n", contentType: "text/plain; version=0.0.4" }),
              },
            }),
            mount({
              name: "deliveries",
              endpoints: { listDeliveries: coordinatorEndpoints.listDeliveries },
              handlers: {
                listDeliveries(call) {
                  asked.push(["deliveries", call.query]);
                  return { schema_version: 1, deliveries: [], next_before: null };
                },
              },
            }),
          ],
        };
      },
    ],
  });
  return {
    app,
    gateway,
    terminal,
    asked,
    faults,
    answer,
    launched,
    peopleMail,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}
