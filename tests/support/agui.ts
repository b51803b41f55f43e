import { type AGUIEvent, HttpAgent } from "@ag-ui/client";
import { HttpAgent as HttpAgent0 } from "ag-ui-client-0";
import type { AguiEvent } from "../../src/protocol/agui.ts";

/** An event as it came over the wire. */
export type WireEvent = { type: string } & Record<string, unknown>;

/** What a stock client made of one stream. */
interface StockRun {
  /** As the client's own pipeline let them through. */
  events: WireEvent[];
  messages: { id: string; role: string; content?: unknown }[];
  state: unknown;
  /** What the client threw, with its status and parsed body for an answer that is no stream. */
  error: (Error & { status?: number; payload?: unknown }) | null;
  /** The stream's bytes as text. */
  raw: string;
}

interface RunOptions {
  runId: string;
  threadId?: string;
  /** The task; no message at all without it. */
  prompt?: string;
  state?: Record<string, unknown>;
  forwardedProps?: Record<string, unknown>;
  onEvent?: (event: WireEvent) => void;
  /** Leaves the stream in the middle. */
  abort?: AbortSignal;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface StockClient {
  version: string;
  /** Drives `url` as a GUI would, and resolves when the client is done. */
  run(url: string, options: RunOptions): Promise<StockRun>;
}

/** Both majors of the client that GUIs are built on, as they come from the registry. */
export const stockClients: StockClient[] = [
  { version: "@ag-ui/client 1.0.0", run: (url, options) => drive(HttpAgent, url, options) },
  {
    version: "@ag-ui/client 0.0.59",
    run: (url, options) => drive(HttpAgent0 as unknown as typeof HttpAgent, url, options),
  },
];

async function drive(Agent: typeof HttpAgent, url: string, options: RunOptions): Promise<StockRun> {
  const { runId, threadId = "thread-1", prompt } = options;
  let raw = "";
  const decoder = new TextDecoder();
  const record = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      raw += decoder.decode(chunk, { stream: true });
      controller.enqueue(chunk);
    },
  });
  const agent = new Agent({
    url,
    threadId,
    initialMessages: prompt === undefined ? [] : [{ id: `${runId}-ask`, role: "user", content: prompt }],
    initialState: options.state ?? {},
    async fetch(to: string, init: RequestInit) {
      const reply = await (options.fetch ?? directly)(to, init);
      return reply.ok ? new Response(reply.body?.pipeThrough(record), reply) : reply;
    },
  });
  const events: WireEvent[] = [];
  const outcome: StockRun = { events, messages: [], state: null, error: null, raw };
  options.abort?.addEventListener("abort", () => agent.abortRun(), { once: true });
  await agent.runAgent(
    { runId, ...(options.forwardedProps ? { forwardedProps: options.forwardedProps } : {}) },
    {
      onEvent({ event }) {
        events.push(event as unknown as WireEvent);
        options.onEvent?.(event as unknown as WireEvent);
      },
      onRunFailed({ error }) {
        outcome.error = error;
        return { stopPropagation: true } as object;
      },
    },
  );
  return { ...outcome, raw, messages: agent.messages as StockRun["messages"], state: agent.state };
}

const directly = (url: string, init: RequestInit) => fetch(url, { ...init, proxy: false } as RequestInit);

/** A stream as both clients read it, without a server: what they refuse is the first thing found. */
export async function refusedByStock(raw: string): Promise<string | null> {
  for (const client of stockClients) {
    const run = await client.run("http://127.0.0.1:1/recorded", {
      runId: "recorded",
      fetch: async () => new Response(raw, { headers: { "content-type": "text/event-stream" } }),
    });
    if (run.error) return `${client.version}: ${run.error.message}`;
    if (run.events.length !== eventsIn(raw).length) return `${client.version} dropped an event`;
  }
  return null;
}

/** The events of a stream's text. */
export function eventsIn(raw: string): WireEvent[] {
  return raw
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => JSON.parse(block.slice("data: ".length)) as WireEvent);
}

const opens: Record<string, string> = { TEXT_MESSAGE_START: "messageId", TOOL_CALL_START: "toolCallId" };
const closes: Record<string, string> = { TEXT_MESSAGE_END: "messageId", TOOL_CALL_END: "toolCallId" };
const terminal = ["RUN_FINISHED", "RUN_ERROR"];

/**
 * The wire rules that a stream breaks, as sentences; none for a good one. `ended`: false for a stream that
 * was left before its end. Source: spec/mailbox-agui.md C, wire rules.
 */
export function brokenRules(raw: string, { ended = true } = {}): string[] {
  const broken: string[] = [];
  const rule = (holds: boolean, sentence: string) => {
    if (!holds) broken.push(sentence);
  };
  rule(!raw.includes("\r"), "only LF ends a line");
  const blocks = raw.split("\n\n");
  const rest = blocks.pop();
  rule(!ended || rest === "", "every block is whole");
  for (const block of blocks) {
    rule(/^(?:data: \{.*\}|: [a-z]+)$/.test(block), `a block is one data line or one comment: ${block}`);
  }
  const events = eventsIn(`${blocks.join("\n\n")}\n\n`);
  const open = new Set<string>();
  for (const [index, event] of events.entries()) {
    const { type } = event;
    if (index === 0) rule(["RUN_STARTED", "RUN_ERROR"].includes(type), `${type} comes first`);
    else rule(type !== "RUN_STARTED", "a run starts once");
    rule(!holdsNull(event), `${type} holds a null`);
    if (terminal.includes(type)) {
      rule(index === events.length - 1, `something follows ${type}`);
      rule(open.size === 0, `${type} while these are open: ${[...open].join(", ")}`);
    }
    const [opened, closed] = [opens[type], closes[type]];
    if (opened) open.add(String(event[opened]));
    if (closed) rule(open.delete(String(event[closed])), `${type} of what is not open`);
    if (type === "TEXT_MESSAGE_CONTENT") rule(open.has(String(event["messageId"])), "text of no message");
    if (type === "TEXT_MESSAGE_CONTENT") rule(event["delta"] !== "", "a piece of text is empty");
    if (type === "TOOL_CALL_RESULT") rule(typeof event["content"] === "string", "a result is no text");
    if (type === "ACTIVITY_SNAPSHOT")
      rule(isObject(event["content"]), "the content of an activity is no object");
  }
  const last = events.at(-1);
  if (ended) rule(last !== undefined && terminal.includes(last.type), "the stream has no terminal event");
  return broken;
}

function holdsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value).some(holdsNull);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An event of the protocol, as its own package types it, with plain words for its kinds. */
type Plain<E> = E extends { type: infer T extends string } ? Omit<E, "type"> & { type: `${T}` } : never;

/** Our event as the protocol's own types have it: what the protocol does not know does not compile. */
export function asProtocolEvent(event: Exclude<AguiEvent, { type: "RUN_STARTED" }>): Plain<AGUIEvent> {
  return event;
}
