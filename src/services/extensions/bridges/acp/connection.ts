import {
  type AnyMessage,
  client,
  type Stream as MessageStream,
  methods,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { type Clock, sleep } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Processes, StreamedProcess } from "../../../../system/processes.ts";
import { type Fields, fieldsOf, isFields, textOf } from "../../../headless/json-fields.ts";
import { boundsOfRecords, createLineSplitter } from "../../../headless/line-splitter.ts";
import { splitNoise } from "../../../headless/providers/acp.ts";
import { createOpenToolCalls, type OpenToolCalls } from "../../../headless/tool-calls.ts";

/** An agent process and the ACP connection to it. */
export type AcpConnection = ReturnType<typeof openConnection>;

interface ConnectionOptions {
  command: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** Gets everything that the agent writes, before a message in it is answered. */
  onOutput: (stream: "stdout" | "stderr", chunk: Uint8Array) => void;
  /** `signal` aborts when the agent no longer waits for the answer. */
  onPermission: (asked: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;
}

/**
 * Starts the agent. Its messages are taken line by line: a line that is no JSON-RPC message is noise, which
 * is handed to `onOutput` and to nothing else. Throws when the executable cannot be started.
 */
export function openConnection(
  { processes, clock }: { processes: Processes; clock: Clock },
  options: ConnectionOptions,
) {
  const child = processes.stream("process:acp-agent", options.command, options);
  const startToken = processes.startToken(child.pid);
  let open = true;
  let agreed = { load: false, resume: false, list: false };

  const calls = createOpenToolCalls();
  const connection = client({ name: "svc" })
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
      options.onPermission(params, signal),
    )
    .connect(messagesOf(child, options.onOutput, calls));
  void drain(child.stderr, (chunk) => options.onOutput("stderr", chunk));
  const exited = child.exited.then((end) => {
    open = false;
    connection.close(new Error("the agent has ended"));
    return end;
  });
  connection.closed.catch(() => {});

  async function request(method: string, params: object, { timeoutMs }: { timeoutMs?: number } = {}) {
    // A call of an earlier turn, or of replayed history, is not asked about in this one.
    if (method === methods.agent.session.prompt) calls.clear();
    const response = connection.agent.request<unknown, object>(method, params);
    if (timeoutMs === undefined) return response;
    const timer = new AbortController();
    const timeout = sleep(clock, timeoutMs, timer.signal).then(() => {
      if (timer.signal.aborted) return undefined;
      throw new ServiceError(
        "unavailable",
        `the agent did not answer ${method} within ${Math.round(timeoutMs / 1000)} s`,
      );
    });
    response.catch(() => {});
    try {
      return await Promise.race([response, timeout]);
    } finally {
      timer.abort();
    }
  }

  return {
    pid: child.pid,
    /** Null once it has ended. */
    startToken,
    /** What the agent can do, once `initialize` was answered. */
    capabilities: (): { load: boolean; resume: boolean; list: boolean } => agreed,
    /** Throws `precondition_failed` for another protocol version, and as `request`. */
    async initialize({ version, timeoutMs }: { version: string; timeoutMs: number }): Promise<void> {
      const answer = fieldsOf(
        await request(
          methods.agent.initialize,
          {
            protocolVersion: PROTOCOL_VERSION,
            // The agent reads files and runs commands itself.
            clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
            clientInfo: { name: "svc", version },
          },
          { timeoutMs },
        ),
      );
      if (answer["protocolVersion"] !== PROTOCOL_VERSION) {
        throw new ServiceError(
          "precondition_failed",
          `the agent speaks ACP protocol ${String(answer["protocolVersion"])}, not ${PROTOCOL_VERSION}`,
        );
      }
      const can = fieldsOf(answer["agentCapabilities"]);
      const session = fieldsOf(can["sessionCapabilities"]);
      agreed = {
        load: can["loadSession"] === true,
        resume: isFields(session["resume"]),
        list: isFields(session["list"]),
      };
    },
    /**
     * Sends a request. Rejects with the agent's own error, with `unavailable` after `timeoutMs`, and when the
     * connection has ended.
     */
    request,
    notify: (method: string, params: object): Promise<void> => connection.agent.notify(method, params),
    /** Resolves when the process has ended. */
    exited,
    /** Whether the process still runs. */
    isOpen: (): boolean => open,
    /** Closes its standard input; most agents then end. */
    close: (): void => child.give(null),
  };
}

/**
 * The requests and responses of a child. Its notifications are read from its output, by `onOutput`. Many
 * agents name in a permission request only the id of a call that they reported before: it is completed here,
 * in the order of the lines.
 */
function messagesOf(
  child: StreamedProcess,
  onOutput: ConnectionOptions["onOutput"],
  calls: OpenToolCalls,
): MessageStream {
  const splitter = createLineSplitter(boundsOfRecords);
  const readable = new ReadableStream<AnyMessage>({
    async start(controller) {
      await drain(child.stdout, (chunk) => {
        onOutput("stdout", chunk);
        for (const { text, truncated } of splitter.push(chunk)) {
          // It may have replaced any call.
          if (truncated) calls.clear();
          const message = truncated ? null : toMessage(splitNoise(text).at(-1) ?? "");
          if (message === null) continue;
          const params = fieldsOf(message["params"]);
          if (message["method"] === methods.client.session.update) calls.note(params, text.length);
          if (!("id" in message)) continue;
          if (message["method"] === methods.client.session.requestPermission) {
            const toolCall = calls.complete(textOf(params["sessionId"]), fieldsOf(params["toolCall"]));
            controller.enqueue({ ...message, params: { ...params, toolCall } } as unknown as AnyMessage);
          } else controller.enqueue(message as unknown as AnyMessage);
        }
      });
      controller.close();
    },
  });
  const writable = new WritableStream<AnyMessage>({
    write: (message) => child.write(`${JSON.stringify(message)}\n`),
  });
  return { readable, writable };
}

function toMessage(text: string): Fields | null {
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (!isFields(value) || value["jsonrpc"] !== "2.0") return null;
    return "method" in value || "result" in value || "error" in value ? value : null;
  } catch {
    return null;
  }
}

async function drain(stream: AsyncIterable<Uint8Array>, take: (chunk: Uint8Array) => void): Promise<void> {
  try {
    for await (const chunk of stream) take(chunk);
  } catch {
    // The process has ended, as `exited` reports.
  }
}
