import { findJsonExcess } from "../../../protocol/json.ts";
import { createLineSplitter } from "../../../services/headless/line-splitter.ts";
import { type Clock, withinTime } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";

/** A JSON-RPC 2.0 message that was checked no further than `jsonrpc`, `method` and `id`. */
export interface StdioMessage {
  jsonrpc: "2.0";
  id?: string | number | null;
  method?: string;
  [field: string]: unknown;
}

/** The messages of one client, one a line, on the standard streams of a server. */
export type StdioMessages = ReturnType<typeof createStdioMessages>;

export const stdioLimits = {
  maxMessageBytes: 8 * 1024 * 1024,
  /** Requests that wait for their answers; a further one is refused. */
  maxUnanswered: 64,
  /** Messages that the client has not read; beyond that it is taken for one that never reads. */
  maxUnwritten: 1024,
  /** How long requests may go on after the end of the input. */
  lastAnswersMs: 5000,
};

export const stdioCodes = { parse: -32700, invalid: -32600, params: -32602, internal: -32603, busy: -32000 };

/**
 * Reads and writes JSON-RPC messages with bounded memory. A line that is no message is answered with an error
 * and costs the client nothing else. A request after `initialize` is held until that is answered. `nullId`:
 * an error that belongs to no request has `id: null`, as JSON-RPC says; MCP leaves it out.
 */
export function createStdioMessages(options: {
  clock: Clock;
  input: AsyncIterable<Uint8Array>;
  write: (text: string) => Promise<void>;
  nullId: boolean;
}) {
  const chunks = options.input[Symbol.asyncIterator]();
  const splitter = createLineSplitter({ maxLineBytes: stdioLimits.maxMessageBytes, keptBytes: 0 });
  const inputEnded = new AbortController();
  const closed = Promise.withResolvers<null>();
  const unanswered = new Set<string | number>();
  let lines: ReturnType<typeof splitter.push> = [];
  let unwritten = 0;
  let fault: ServiceError | null = null;
  let onAnswer = () => {};
  let onWritten = () => {};

  function close(): void {
    inputEnded.abort();
    closed.resolve(null);
  }

  async function send(message: object): Promise<void> {
    const { id, method } = message as Partial<StdioMessage>;
    if (method === undefined && id !== undefined && id !== null) settled(id);
    unwritten += 1;
    if (unwritten > stdioLimits.maxUnwritten) {
      return endUnread();
    }
    try {
      await options.write(`${JSON.stringify(message)}\n`);
    } catch {
      // Nobody reads any more.
      close();
    } finally {
      unwritten -= 1;
      onWritten();
    }
  }

  /**
   * False when the client has read nothing for a while: lines are taken no faster than their errors are read.
   */
  async function hasRoom(): Promise<boolean> {
    if (unwritten < stdioLimits.maxUnwritten) return true;
    const written = new Promise<true>((resolve) => {
      onWritten = () => resolve(true);
    });
    return (await withinTime(options.clock, stdioLimits.lastAnswersMs, written)) !== null;
  }

  function endUnread(): void {
    fault ??= new ServiceError("unavailable", "the client does not read what it is sent; the server ends");
    close();
  }

  function settled(id: string | number): void {
    unanswered.delete(id);
    onAnswer();
  }

  async function untilAnswered(): Promise<void> {
    while (unanswered.size > 0) await new Promise<void>((resolve) => (onAnswer = resolve));
  }

  const isWaiting = (id: StdioMessage["id"]) => id !== undefined && id !== null && unanswered.has(id);

  function refuse(id: StdioMessage["id"], code: number, message: string): void {
    const known = id === undefined || id === null ? (options.nullId ? { id: null } : {}) : { id };
    void send({ jsonrpc: "2.0", ...known, error: { code, message } });
  }

  /** The message of a line when it is one for the server. */
  function admit({ text, truncated }: { text: string; truncated: boolean }): StdioMessage | null {
    if (truncated) {
      refuse(null, stdioCodes.invalid, `a message is longer than ${stdioLimits.maxMessageBytes} bytes`);
      return null;
    }
    if (text.trim() === "") return null;
    const read = readMessage(text);
    if ("why" in read) {
      // The response of a request that waits must stay the only one with its id.
      refuse(isWaiting(read.id) ? null : read.id, read.code, read.why);
      return null;
    }
    const { id, method } = read.message;
    if (method === undefined || id === undefined) return read.message;
    if (id === null) refuse(null, stdioCodes.invalid, "a request needs an id that is a text or a number");
    else if (isWaiting(id))
      refuse(null, stdioCodes.invalid, "the id is that of a request that waits for its answer");
    else if (unanswered.size >= stdioLimits.maxUnanswered) {
      refuse(id, stdioCodes.busy, `${stdioLimits.maxUnanswered} requests wait for their answers`);
    } else {
      unanswered.add(id);
      return read.message;
    }
    return null;
  }

  /** False at the end of the input. A last line without its end is no message. */
  async function readLines(): Promise<boolean> {
    const chunk = await chunks.next().catch(() => ({ done: true as const, value: undefined }));
    if (chunk.done) return false;
    lines = splitter.push(chunk.value);
    return true;
  }

  async function take(): Promise<StdioMessage | null> {
    while (!inputEnded.signal.aborted) {
      if (!(await hasRoom())) {
        endUnread();
        return null;
      }
      const line = lines.shift();
      if (line === undefined) {
        if (await readLines()) continue;
        inputEnded.abort();
        await withinTime(options.clock, stdioLimits.lastAnswersMs, untilAnswered());
        return null;
      }
      const message = admit(line);
      if (message) return message;
    }
    return null;
  }

  let initializing = false;
  return {
    /**
     * The next message for the server. Null once the client has gone: its input has ended, and every request
     * was answered or 5 s have passed. Never called twice at once.
     */
    async next(): Promise<StdioMessage | null> {
      if (initializing) await Promise.race([untilAnswered(), closed.promise]);
      const message = await Promise.race([take(), closed.promise]);
      initializing = message?.method === "initialize" && message.id !== undefined;
      return message;
    },
    /** Resolves once the message is written, or when nobody reads any more. */
    send,
    /** A request that gets no response, because the client took it back, is over. */
    settled,
    /** Ends `next`. */
    close,
    /** Aborts when the input has ended: a call that waits gives its answer then. */
    inputEnded: inputEnded.signal,
    /** Why the server ended the connection; null otherwise. */
    fault: (): ServiceError | null => fault,
  };
}

type Read = { message: StdioMessage } | { id: string | number | null; code: number; why: string };

/** The message in a line. The reason repeats nothing of the line; `id` is that of a request. Pure. */
function readMessage(text: string): Read {
  const excess = findJsonExcess(text);
  if (excess !== null) return { id: null, code: stdioCodes.invalid, why: `the message ${excess}` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { id: null, code: stdioCodes.parse, why: "the line is not JSON" };
  }
  if (Array.isArray(value)) return { id: null, code: stdioCodes.invalid, why: "batches are not supported" };
  if (typeof value !== "object" || value === null)
    return { id: null, code: stdioCodes.invalid, why: "a message is a JSON object" };
  const { id, method, params } = value as Record<string, unknown>;
  const requestId = isId(id) && typeof method === "string" ? id : null;
  const why = findInvalid(value);
  if (why !== null) return { id: requestId, code: stdioCodes.invalid, why };
  const isObject = typeof params === "object" && params !== null && !Array.isArray(params);
  return params === undefined || isObject
    ? { message: value as StdioMessage }
    : { id: requestId, code: stdioCodes.params, why: "params is not an object" };
}

const isId = (id: unknown): id is string | number =>
  typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));

function findInvalid(value: object): string | null {
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  if (jsonrpc !== "2.0") return 'jsonrpc is not "2.0"';
  if (id !== undefined && id !== null && !isId(id)) return "id is neither a text nor a whole number";
  if (method === undefined) return "result" in value || "error" in value ? null : "a message needs a method";
  return typeof method === "string" ? null : "method is not a text";
}
