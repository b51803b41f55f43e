import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import {
  type GatewayStatus,
  healthBody,
  type NotePromptRequest,
  type PromptRefusalCode,
} from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { maxListed } from "../../protocol/wire.ts";
import { answerAgent } from "../../services/agent/agent.ts";
import { chatSessionProblem } from "../../services/queue/eligibility.ts";
import { ServiceError } from "../../system/errors.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import type { Guard } from "../http/gate.ts";
import { httpGate } from "../http/gate-plugin.ts";
import { type Handlers, idempotencyKeyOf, mount } from "../http/mount.ts";
import type { HttpObservation } from "../http/observe.ts";
import type { CoreServices } from "./services.ts";

/** Options of the core app and of the whole app; `Services` are those that the routes call. */
export interface GatewayAppOptions<Services> {
  services: Services;
  guards: readonly Guard[];
  faults: FaultReporter;
  /** See `httpErrors`. */
  advice: (remedy: Remedy) => string;
  observation?: HttpObservation;
}

/**
 * The core of a gateway's app: status, queue and terminal. `createGatewayApp` adds the other routes.
 */
export function createCoreApp(options: GatewayAppOptions<CoreServices>) {
  const { services } = options;
  const app = new Elysia({ name: "gateway", normalize: false });
  if (options.observation) app.use(options.observation.plugin);
  return app
    .use(httpErrors({ faults: options.faults, advice: options.advice, routes: () => app.routes }))
    .use(httpGate(options.guards))
    .use(
      mount({
        name: "gateway-core",
        endpoints: coreEndpoints,
        handlers: {
          ...statusHandlers(services),
          ...snapshotHandlers(services),
          ...requestHandlers(services),
          ...controlHandlers(services),
        },
        // Building a check takes milliseconds, and a gateway answers `health` while it starts. The parts of a
        // snapshot are checked in the answers of their separate routes.
        unchecked: ["health", "snapshot"],
        answers: services.answers,
        inStore: ["withdrawRequest", "reconcile", "keepRequests"],
        handlersKeepKey: ["submitRequest"],
      }),
    );
}

type CoreHandlers = Handlers<typeof coreEndpoints>;

function statusHandlers({ board }: Pick<CoreServices, "board">): Pick<CoreHandlers, "health" | "status"> {
  const textOf = cacheRepeatedText<GatewayStatus>();
  // A property, not a call: Elysia searches a handler's source for calls and awaits what may be a promise.
  const answer = {
    get status() {
      const status = board.status();
      const text = textOf(status);
      return text === null ? status : (new Response(text, asJson) as never);
    },
  };
  return {
    health: healthBody,
    status: () => answer.status,
  };
}

function snapshotHandlers({
  board,
  queue,
  agent,
}: Pick<CoreServices, "board" | "queue" | "agent">): Pick<CoreHandlers, "snapshot"> {
  return {
    snapshot: ({ query }) => ({
      schema_version: 1,
      status: board.status(),
      terminal: agent.terminal?.state() ?? null,
      requests: queue.list({ limit: query.limit }),
    }),
  };
}

/** Shared, since building headers for each answer takes longer than the rest of the answer. */
const asJson = { headers: new Headers({ "content-type": "application/json;charset=utf-8" }) };

/**
 * Caches the JSON text of the last object; the object must not change in place. Returns null for a new
 * object, so that its first answer is checked against the schema like every answer, and the text for a
 * repeated one.
 */
function cacheRepeatedText<T extends object>(): (value: T) => string | null {
  let last: T | null = null;
  let text: string | null = null;
  return (value) => {
    if (value === last) {
      text ??= JSON.stringify(value);
      return text;
    }
    last = value;
    text = null;
    return null;
  };
}

/** The durable queue (contract 4.1). */
function requestHandlers({
  queue,
}: Pick<CoreServices, "queue">): Pick<
  CoreHandlers,
  "submitRequest" | "listRequests" | "readRequest" | "withdrawRequest"
> {
  return {
    submitRequest: async ({ body, status, request }) =>
      status(202, await queue.accept(body, idempotencyKeyOf(request))),
    listRequests: ({ query: { limit, state, idempotency_key: key } }) => ({
      schema_version: 1,
      requests: queue.list({
        limit,
        ...(state ? { state } : {}),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      }),
    }),
    readRequest: ({ params, query }) =>
      required(queue.record(params.request_id, { withPrompt: query.include === "prompt" })),
    withdrawRequest: ({ params, query }) =>
      required(queue.withdraw(params.request_id, query.agent_id ?? null)),
  };
}

function required<T>(record: T | null): T {
  if (record === null) throw new ServiceError("not_found", "no request with this id");
  return record;
}

/** Direct prompts, raw keys, the tracked terminal and reconciliation (contract 4.1, 4.2; ruling 5). */
function controlHandlers({
  prompt,
  keys,
  agent,
  board,
}: Pick<CoreServices, "prompt" | "keys" | "agent" | "board">) {
  return {
    controlPrompt: async ({ body, status }) => {
      const result = await prompt.submit(body);
      return result.sent ? result : status(refusalStatus[result.error_code], { detail: result });
    },
    sendKeys: ({ body }) => keys.send(body),
    terminalState: () => tracked(agent.terminal?.state()),
    terminalHistory: ({ query }) => tracked(agent.terminal?.history(query.limit)),
    notePrompt: ({ body }) => {
      const prompt = promptOf(body);
      return tracked(agent.terminal?.notePrompt(prompt));
    },
    explain: () => tracked(agent.terminal?.explain()),
    wait: async ({ query, request }) => {
      const outcome = await agent.terminal?.waitFor(query.for, {
        timeoutMs: query.timeout_seconds * 1000,
        signal: request.signal,
      });
      const { satisfied, waitedMs, state } = tracked(outcome);
      const waited_seconds = Math.round(waitedMs) / 1000;
      return { schema_version: 1, for: query.for, satisfied, waited_seconds, state };
    },
    decide: async ({ body }) => ({ status: "ok", action: "decide", option: await answerAgent(agent, body) }),
    reconcile: () => {
      const failed_request_ids = board.reconcile().slice(0, maxListed);
      return { schema_version: 1, managed_agent_instance_epoch: board.epoch(), failed_request_ids };
    },
    keepRequests: () => {
      const kept_request_ids = board.keepRequests().slice(0, maxListed);
      return { schema_version: 1, managed_agent_instance_epoch: board.epoch(), kept_request_ids };
    },
  } satisfies Partial<CoreHandlers>;
}

/** The HTTP status of each refusal of a direct prompt (ruling 9). */
const refusalStatus: Record<PromptRefusalCode, 409 | 422 | 501 | 503> = {
  not_ready: 409,
  pending_input: 409,
  pending_input_unknown: 409,
  awaiting_decision: 409,
  blocked_reconciliation: 409,
  missing_current_chat_session: 409,
  unavailable: 503,
  tracking_unavailable: 503,
  invalid_chat_session: 422,
  invalid_admission_policy: 422,
  invalid_execution: 422,
  dispatch_failed: 422,
  unsupported_backend: 501,
};

/**
 * The prompt of a submission; the other fields are ignored. Throws `invalid_request` for an invalid
 * `chat_session`, as a submission does.
 */
function promptOf({ prompt, chat_session }: Static<typeof NotePromptRequest>): string {
  const problem = chatSessionProblem(chat_session);
  if (problem) throw new ServiceError("invalid_request", `chat_session: invalid_chat_session: ${problem}`);
  return prompt;
}

function tracked<T>(value: T | null | undefined): T {
  if (value == null) throw new ServiceError("unsupported", "this backend has no tracked terminal");
  return value;
}
