import { anthropicMessages } from "./anthropic-messages.ts";
import { chatCompletions } from "./chat-completions.ts";
import { gemini } from "./gemini.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { Frame, Json, Protocol, Understood } from "./protocol.ts";
import { createRecords, type ReceivedRequest, type Records } from "./records.ts";
import { planReply, type Reply, type Speech, sayAtOnce } from "./scenario.ts";
import { modelUsage } from "./usage.ts";

/**
 * A scripted model on a free port of 127.0.0.1. It answers each of the four protocols by the directives of
 * `scenario.ts` and remembers every request. `stop` closes all connections.
 */
export interface ModelServer extends Pick<Records, "received" | "next">, AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a path. */
  url: string;
  /** Requests on paths that no protocol knows, as `METHOD path`: a CLI's probes, answered 404. */
  strays(): readonly string[];
  stop(): Promise<void>;
}

const protocols: readonly Protocol[] = [anthropicMessages, openaiResponses, gemini, chatCompletions];

/** A part that the model plays instead of the directives; null leaves a prompt to them. Must not throw. */
export type Part = (turn: {
  prompt: string;
  toolResults: readonly string[];
  /** The newest item is a tool's result. */
  toolAnswered: boolean;
  skillTexts: readonly string[];
}) => Reply | null;

/** `pace` multiplies all pauses of the script; 0 speaks at once. Default 1. */
export function startModelServer(options: { pace?: number; part?: Part } = {}): ModelServer {
  const { pace = 1, part = () => null } = options;
  const records = createRecords();
  const strays: string[] = [];

  async function answer(request: Request): Promise<Response> {
    const atMs = Date.now();
    const { pathname, search } = new URL(request.url);
    const protocol = protocols.find((candidate) => candidate.accepts(request.method, pathname));
    if (!protocol) {
      strays.push(`${request.method} ${pathname}`);
      return Response.json({ error: { message: "no such path" } }, { status: 404 });
    }
    const body = parseBody(await request.text());
    const path = `${pathname}${search}`;
    const wire = { method: request.method, path, headers: request.headers, body };
    const understood = protocol.understand(wire);
    const record = records.add(toRecord(protocol, path, request.headers, understood, body), atMs);
    return respond(protocol, understood, record, request.signal);
  }

  function respond(
    protocol: Protocol,
    understood: Understood,
    record: ReceivedRequest,
    signal: AbortSignal,
  ): Response {
    const reply = replyTo(protocol, understood, part);
    if (reply.kind === "failure") {
      records.end(record, "failed");
      return Response.json(protocol.failure(reply.status), { status: reply.status });
    }
    const usage = modelUsage(record.sequence, reply);
    record.usage = usage;
    if (!understood.streamed) {
      records.end(record, "finished");
      return Response.json(protocol.whole(reply, understood, usage));
    }
    const frames = protocol.frames(reply, understood, usage);
    const stream = speakingStream({
      frames,
      speech: reply,
      pace,
      signal,
      end: (how) => records.end(record, how),
    });
    return new Response(stream, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    });
  }

  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });
  const stop = () => server.stop(true);
  return {
    url: `http://127.0.0.1:${server.port}`,
    received: records.received,
    next: records.next,
    strays: () => strays,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function replyTo(protocol: Protocol, understood: Understood, part: Part): Reply {
  const side = protocol.sideText(understood);
  if (side !== null) return sayAtOnce(side);
  if (understood.purpose !== "turn") return sayAtOnce("A short account of the conversation so far.");
  const { toolResults, toolAnswered, skillTexts } = understood;
  const prompt = understood.userTexts.at(-1) ?? "";
  return part({ prompt, toolResults, toolAnswered, skillTexts }) ?? planReply(prompt, toolAnswered);
}

function toRecord(
  protocol: Protocol,
  path: string,
  headers: Headers,
  understood: Understood,
  body: Json,
): Parameters<Records["add"]>[0] {
  return {
    protocol: protocol.name,
    path,
    purpose: understood.purpose,
    model: understood.model,
    streamed: understood.streamed,
    headless: understood.headless,
    user_agent: headers.get("user-agent") ?? "",
    newest_user_text: understood.userTexts.at(-1) ?? "",
    all_user_texts: understood.userTexts,
    tool_answered: understood.toolAnswered,
    tool_results: understood.toolResults,
    body,
  };
}

/**
 * Plays the frames in their time. The end is reported once: spoken, cut by the script, or left by the client.
 */
function speakingStream(play: {
  frames: Generator<Frame>;
  speech: Speech;
  pace: number;
  signal: AbortSignal;
  end: (how: "finished" | "aborted" | "cut") => void;
}): ReadableStream<Uint8Array> {
  const { frames, speech, pace, signal, end } = play;
  const gone = new AbortController();
  signal.addEventListener("abort", () => leave(), { once: true });
  const leave = () => {
    gone.abort();
    end("aborted");
  };
  const encoder = new TextEncoder();
  let spoken = 0;
  return new ReadableStream({
    async pull(controller) {
      const frame = frames.next();
      if (frame.done) {
        end("finished");
        controller.close();
        return;
      }
      await pause(frame.value.afterMs * pace, gone.signal);
      if (gone.signal.aborted) return;
      if (frame.value.word && spoken++ === speech.cutAfterWords) {
        end("cut");
        controller.error(new Error("the script cuts the stream here"));
        return;
      }
      controller.enqueue(encoder.encode(frame.value.text));
    },
    cancel: leave,
  });
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener("abort", finish, { once: true });
  });
}

function parseBody(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
