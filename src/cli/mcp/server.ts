import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  PingRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Advise } from "../../protocol/remedy.ts";
import { createClock } from "../../system/clock.ts";
import type { Caller } from "../command-line/command.ts";
import { describeFailure } from "../command-line/dispatch.ts";
import { programVersion } from "../command-line/version.ts";
import {
  createStdioMessages,
  type StdioMessage,
  type StdioMessages,
  stdioCodes,
} from "../extensions/bridges/stdio-messages.ts";
import { withoutTerminal } from "../operations/outcome.ts";

const instructions =
  "svc runs coding agents beside you. prompt_agent queues a task durably; wait and read_answer return its answer; mail reaches agents that are busy. Do not hand a task back to who gave it to you.";

/**
 * Serves MCP on standard input and output until the client closes it or the process is interrupted. This
 * process has no state: the agents' gateways store what a tool accepted. Throws when the client reads
 * nothing.
 */
export async function serveMcp({ io, inherited }: Caller): Promise<void> {
  const interrupted = io.interrupted();
  const { version } = await programVersion();
  const messages = createStdioMessages({
    clock: createClock(),
    input: Bun.stdin.stream(),
    write: (text) => io.writeOut(text),
    nullId: false,
  });
  const server = new Server({ name: "svc", version }, { capabilities: { tools: {} }, instructions });
  // Imported later, because clients wait for the answer to initialize.
  const tools = async () => import("./tools.ts");
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: (await tools()).listTools() }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, requestId }) => {
    const cancelled = AbortSignal.any([signal, interrupted, messages.inputEnded]);
    try {
      const { runTool } = await tools();
      const silent = withoutTerminal(io, { interrupted: () => cancelled, unheard: () => cancelled });
      const session = { io: silent, inherited, cancelled };
      return contentOf(await runTool(params.name, params.arguments ?? {}, session));
    } catch (error) {
      return { ...contentOf(documentOf(error, io.advise)), isError: true };
    } finally {
      if (signal.aborted) messages.settled(requestId);
    }
  });
  interrupted.addEventListener("abort", messages.close, { once: true });
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
  });
  await server.connect(transportOf(messages));
  await closed;
  const fault = messages.fault();
  if (fault) throw fault;
}

/** A message that cannot be handled ends no loop: it is answered, where it is a request. */
export function transportOf(messages: Pick<StdioMessages, "next" | "send" | "close">): Transport {
  function handle(message: StdioMessage): void {
    const { id, method } = message;
    const isRequest = method !== undefined && id !== undefined;
    const refuse = (code: number, why: string) =>
      void messages.send({ jsonrpc: "2.0", id, error: { code, message: why } });
    try {
      const wrong = isRequest ? findWrongParameter(message) : null;
      if (wrong === null) transport.onmessage?.(withoutTask(message) as JSONRPCMessage);
      else refuse(stdioCodes.params, `${wrong} is not as MCP describes it`);
    } catch {
      if (isRequest) refuse(stdioCodes.internal, "the message could not be handled");
    }
  }
  async function receive(): Promise<void> {
    try {
      for (let message = await messages.next(); message !== null; message = await messages.next())
        handle(message);
    } finally {
      transport.onclose?.();
    }
  }
  const transport: Transport = {
    start: async () => void receive().catch(messages.close),
    send: (message) => messages.send(message),
    close: async () => messages.close(),
  };
  return transport;
}

const requestSchemas = {
  initialize: InitializeRequestSchema,
  ping: PingRequestSchema,
  "tools/list": ListToolsRequestSchema,
  "tools/call": CallToolRequestSchema,
} as const;

/**
 * The parameter of a request that has a wrong shape, or null. The SDK 1.32.2 answers such a request with
 * -32603 and the whole list of what its schema found. Names no key that the client chose. Pure.
 */
function findWrongParameter(request: StdioMessage): string | null {
  const { method = "" } = request;
  if (!Object.hasOwn(requestSchemas, method)) return isJSONRPCRequest(request) ? null : "params";
  const checked = requestSchemas[method as keyof typeof requestSchemas].safeParse(request);
  if (checked.success) return null;
  const [first] = checked.error.issues;
  return first?.path.slice(0, 2).map(String).join(".") || "params";
}

/**
 * A call that asks for a task, which this server does not offer: the SDK 1.32.2 would run it and refuse its
 * result. Pure.
 */
function withoutTask(message: StdioMessage): StdioMessage {
  if (message.method !== "tools/call") return message;
  const { task: _, ...params } = (message["params"] ?? {}) as Record<string, unknown>;
  return { ...message, params };
}

/** Always an object: gemini refuses a text that is a JSON array. */
const contentOf = (document: object) => ({
  content: [{ type: "text" as const, text: JSON.stringify(document) }],
});

function documentOf(error: unknown, advise: Advise): object {
  const { document } = describeFailure(error, advise);
  const isFault = (document as { error?: unknown } | null)?.error === "internal";
  if (isFault) return { error: "internal", detail: "the tool failed" };
  return typeof document === "object" && document !== null ? document : { detail: String(document) };
}
