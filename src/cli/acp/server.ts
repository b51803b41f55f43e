import {
  type AgentConnection,
  type AgentContext,
  type AnyMessage,
  agent,
  type ContentBlock,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { isPermission } from "../../services/attention/decide.ts";
import { createClock } from "../../system/clock.ts";
import { visibleLine } from "../../system/visible.ts";
import { readTranscript, renderAnswer, withWholeAnswer } from "../agent/agent-transcript.ts";
import { requireAnswerer } from "../agent/questions.ts";
import { openReconnecting } from "../agent/reconnecting-client.ts";
import { type AgentCaller, openLiveTarget } from "../agent/target.ts";
import { CommandFailure } from "../command-line/dispatch.ts";
import { programVersion } from "../command-line/version.ts";
import { createStdioMessages, type StdioMessages } from "../extensions/bridges/stdio-messages.ts";
import { runPrompt } from "./prompt-turn.ts";

/** Turns that a loaded session replays at most. */
const replayedTurns = 50;
/** How long a gateway that restarts is waited for. */
const outageMs = 30_000;

/**
 * Serves one agent over ACP on standard input and output until the client closes it or the process is
 * interrupted. The session is the agent with its present conversation, which other callers may use too. The
 * agent's gateway stores what was accepted: a server that ends loses nothing. Throws when the client reads
 * nothing.
 */
export async function serveAcp(caller: AgentCaller, interrupted: AbortSignal): Promise<void> {
  // Refused at once, before a client waits for an answer.
  const first = await openLiveTarget(caller);
  const { manifest } = first.agent;
  const sessionId = `svc-${manifest.agent_id}`;
  const cancels = new Set<AbortController>();
  const { version } = await programVersion();
  const messages = createStdioMessages({
    clock: createClock(),
    input: Bun.stdin.stream(),
    write: (text) => caller.io.writeOut(text),
    nullId: true,
  });

  const gone = AbortSignal.any([interrupted, messages.inputEnded]);

  /** The gateway may have been restarted at another port since. */
  async function target(wanted: string): ReturnType<typeof openReconnecting> {
    if (wanted !== sessionId) throw RequestError.resourceNotFound(wanted);
    return openReconnecting(caller, { outageMs, over: gone }).catch((error: unknown) => {
      throw toRequestError(error);
    });
  }

  async function replay(client: AgentContext): Promise<void> {
    const gateway = (await target(sessionId)).client;
    const { turns } = await readTranscript(gateway, { limit: replayedTurns });
    const send = (sessionUpdate: "user_message_chunk" | "agent_message_chunk", text: string) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate, content: { type: "text", text } },
      });
    for (const turn of turns.toReversed()) {
      if (turn.prompt !== null) await send("user_message_chunk", turn.prompt);
      if (turn.status === "running") continue;
      const whole = await withWholeAnswer(gateway, turn);
      await send("agent_message_chunk", renderAnswer(whole));
    }
  }

  const app = agent({ name: "svc" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {} },
      },
      agentInfo: { name: "svc", title: manifest.agent_name, version },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, () => ({ sessionId }))
    .onRequest(methods.agent.session.list, async () => {
      const gateway = (await target(sessionId)).client;
      const { turns } = await readTranscript(gateway, { limit: 1 });
      const updatedAt = turns[0]?.ended_at_utc ?? turns[0]?.started_at_utc;
      return {
        sessions: [
          {
            sessionId,
            cwd: manifest.launch_plan.working_directory,
            title: manifest.agent_name,
            ...(updatedAt ? { updatedAt } : {}),
          },
        ],
      };
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      await target(params.sessionId);
      await replay(client);
      return {};
    })
    .onRequest(methods.agent.session.resume, async ({ params }) => {
      await target(params.sessionId);
      return {};
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const cancel = new AbortController();
      // Before anything is awaited: a cancel may follow at once.
      cancels.add(cancel);
      try {
        const { context, client: gateway } = await target(params.sessionId);
        return await runPrompt({
          client,
          sessionId,
          gateway,
          clock: context.clock,
          prompt: toPromptText(params.prompt),
          requireMayAnswer: (decision) =>
            requireAnswerer(caller, {
              agentId: manifest.agent_id,
              isPermission: () => isPermission(decision),
            }),
          cancelled: AbortSignal.any([cancel.signal, signal]),
          disconnected: gone,
        });
      } catch (error) {
        throw toRequestError(error);
      } finally {
        cancels.delete(cancel);
      }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      if (params.sessionId !== sessionId) return;
      for (const cancel of cancels) cancel.abort();
    });

  const connection: AgentConnection = app.connect(streamOf(messages));
  interrupted.addEventListener(
    "abort",
    () => {
      messages.close();
      connection.close();
    },
    { once: true },
  );
  await connection.closed;
  const fault = messages.fault();
  if (fault) throw fault;
}

function streamOf(messages: StdioMessages): Stream {
  return {
    readable: new ReadableStream<AnyMessage>(
      {
        async pull(controller) {
          const message = await messages.next();
          if (message === null) controller.close();
          else controller.enqueue(message as AnyMessage);
        },
      },
      { highWaterMark: 0 },
    ),
    writable: new WritableStream<AnyMessage>({ write: (message) => messages.send(message) }),
  };
}

/** The text of a prompt; a linked file is its address. Throws for images and sound. Pure. */
function toPromptText(blocks: readonly ContentBlock[]): string {
  const parts = blocks.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "resource_link":
        return block.uri;
      case "resource":
        return "text" in block.resource
          ? `${block.resource.uri}\n${block.resource.text}`
          : block.resource.uri;
      default:
        throw RequestError.invalidParams(undefined, `a prompt cannot hold ${block.type}`);
    }
  });
  const text = parts.join("\n").trim();
  if (text === "") throw RequestError.invalidParams(undefined, "the prompt is empty");
  return text;
}

/** Our own refusals have their message; any other error is internal and has none. */
function toRequestError(error: unknown): unknown {
  if (error instanceof RequestError) return error;
  if (error instanceof CommandFailure) return new RequestError(-32603, visibleLine(error.message));
  return RequestError.internalError();
}
