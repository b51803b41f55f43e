import {
  methods,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { TurnRequest, TurnSession } from "../../../../protocol/turn-files.ts";
import { type Clock, sleep, withinTime } from "../../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import type { Processes } from "../../../../system/processes.ts";
import { endProvider } from "../../../headless/end-provider.ts";
import { fieldsOf, itemsOf, textOf } from "../../../headless/json-fields.ts";
import { endProcesses, type KnownProcess, knownTree, waitForEnd } from "../../../sessions/process-tree.ts";
import { type AcpConnection, openConnection } from "./connection.ts";

export interface AgentLimits {
  initializeMs: number;
  sessionMs: number;
  /** How long the agent may take to end a turn after `session/cancel`, before its process is ended. */
  cancelMs: number;
}

export const defaultLimits: AgentLimits = { initializeMs: 60_000, sessionMs: 120_000, cancelMs: 5000 };

/** Receives what the agent writes and asks while a prompt runs. */
export interface TurnListener {
  output(stream: "stdout" | "stderr", chunk: Uint8Array): void;
  permission(asked: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
}

/** The one agent process of a session and its open conversation. */
export interface AgentSession {
  process(): { pid: number; startToken: string } | null;
  /**
   * Opens the conversation of a turn, and starts the agent if it does not run. Output of the agent until
   * then, such as replayed history, belongs to no turn. Throws with a reason for people.
   */
  open(request: TurnRequest, signal: AbortSignal): Promise<{ sessionId: string; isNew: boolean }>;
  /** Sends a prompt to the open conversation; resolves with the agent's answer. */
  prompt(text: string, listener: TurnListener): Promise<unknown>;
  cancel(): Promise<void>;
  /** The agent process and what is below it. */
  tree(): Promise<KnownProcess[]>;
  /**
   * Ends the processes that joined the agent's tree since `before` and do not end by themselves: with the
   * agent when another process can continue the conversation, else alone.
   */
  endLeftovers(before: readonly KnownProcess[]): Promise<void>;
  /** Resolves with how the process ended. */
  exited(): Promise<{ exitCode: number | null; signal: string | null }>;
  /** Ends the process and what is below it. */
  end(first: "SIGINT" | "SIGKILL"): Promise<void>;
  /** Closes its standard input and ends it after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export function createAgentSession(deps: {
  clock: Clock;
  processes: Processes;
  env: Record<string, string>;
  version: string;
  limits?: Partial<AgentLimits>;
  /** The agent process started or ended. */
  onProcess: () => void;
}): AgentSession {
  const { clock, processes } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  let connection: AcpConnection | null = null;
  let listener: TurnListener | null = null;
  let sessionId: string | null = null;
  let mode: string | null = null;
  /** Conversations that this process has open: it need not load them. */
  const openConversations = new Set<string>();
  /** When the last prompt of this bridge ended; null before the first. */
  let lastUseMs: number | null = null;
  /** The last line of standard error: some agents explain only there why they do not start. */
  let lastStderr = "";

  function process(): { pid: number; startToken: string } | null {
    if (!connection?.isOpen() || connection.startToken === null) return null;
    return { pid: connection.pid, startToken: connection.startToken };
  }

  async function start(request: TurnRequest): Promise<AcpConnection> {
    if (connection?.isOpen()) return connection;
    connection = null;
    sessionId = null;
    openConversations.clear();
    lastStderr = "";
    const started = openConnection(
      { processes, clock },
      {
        command: [request.executable, ...request.args],
        env: deps.env,
        cwd: request.working_directory,
        onOutput(stream, chunk) {
          if (stream === "stderr") lastStderr = lastLine(lastStderr, chunk);
          listener?.output(stream, chunk);
        },
        onPermission: async (asked, signal) =>
          listener && asked.sessionId === sessionId
            ? listener.permission(asked, signal)
            : { outcome: { outcome: "cancelled" } },
      },
    );
    connection = started;
    deps.onProcess();
    void started.exited.then(() => {
      if (connection === started) deps.onProcess();
    });
    await started.initialize({ version: deps.version, timeoutMs: limits.initializeMs });
    return started;
  }

  async function openConversation(
    agent: AcpConnection,
    wanted: TurnSession,
    request: TurnRequest,
  ): Promise<{ sessionId: string; isNew: boolean }> {
    const cwd = request.working_directory;
    const { sessionMs: timeoutMs } = limits;
    const create = async () => {
      const answer = fieldsOf(
        await agent.request(methods.agent.session.new, { cwd, mcpServers: [] }, { timeoutMs }),
      );
      const id = textOf(answer["sessionId"]);
      if (id === null || id === "")
        throw new ServiceError("dispatch_failed", "session/new gave no session id");
      return { sessionId: id, isNew: true };
    };
    if (wanted.mode === "new") return create();
    const id = wanted.mode === "exact" ? wanted.id : await newestConversation(agent, cwd);
    if (id === null) return create();
    if (openConversations.has(id)) return { sessionId: id, isNew: false };
    const { load, resume } = agent.capabilities();
    if (!load && !resume) {
      throw new ServiceError(
        "unsupported",
        "the agent cannot go on with a conversation of an earlier process",
      );
    }
    const delayMs = resume ? 0 : loadDelayMs({ load: request.acp?.load, nowMs: clock.nowMs(), lastUseMs });
    if (delayMs > 0) await sleep(clock, delayMs);
    // resume replays nothing.
    const method = resume ? methods.agent.session.resume : methods.agent.session.load;
    await agent.request(method, { sessionId: id, cwd, mcpServers: [] }, { timeoutMs });
    return { sessionId: id, isNew: false };
  }

  /** The newest conversation of the folder; null when there is none. */
  async function newestConversation(agent: AcpConnection, cwd: string): Promise<string | null> {
    if (sessionId !== null) return sessionId;
    if (!agent.capabilities().list) {
      throw new ServiceError(
        "unsupported",
        "the agent does not list its conversations: name one, or begin a new one",
      );
    }
    const answer = fieldsOf(
      await agent.request(methods.agent.session.list, { cwd }, { timeoutMs: limits.sessionMs }),
    );
    const known = itemsOf(answer["sessions"]).map(fieldsOf);
    const newest = known
      .filter((one) => one["cwd"] === cwd)
      .sort((left, right) => String(right["updatedAt"] ?? "").localeCompare(String(left["updatedAt"] ?? "")));
    return textOf(newest[0]?.["sessionId"]);
  }

  async function setMode(agent: AcpConnection, wanted: string | null): Promise<void> {
    if (wanted === null || wanted === mode) return;
    const params = { sessionId, modeId: wanted };
    await agent.request(methods.agent.session.setMode, params, { timeoutMs: limits.sessionMs });
    mode = wanted;
  }

  async function tree(): Promise<KnownProcess[]> {
    const known = process();
    return known ? knownTree(processes, known.pid) : [];
  }

  async function end(first: "SIGINT" | "SIGKILL"): Promise<void> {
    const known = process();
    sessionId = null;
    if (known) await endProvider(deps, known, first);
  }

  return {
    process,
    async open(request, signal) {
      const wanted = request.session;
      const interrupted = Promise.withResolvers<never>();
      const interrupt = () => interrupted.reject(new ServiceError("conflict", "interrupted"));
      signal.addEventListener("abort", interrupt, { once: true });
      if (signal.aborted) interrupt();
      interrupted.promise.catch(() => {});
      const work = (async () => {
        const agent = await start(request);
        const opened = await openConversation(agent, wanted, request);
        if (opened.sessionId !== sessionId) mode = null;
        sessionId = opened.sessionId;
        openConversations.add(sessionId);
        await setMode(agent, request.acp?.mode ?? null);
        return opened;
      })();
      work.catch(() => {});
      // A process that could not be started never exits.
      const processEnded =
        connection?.exited.then(() => Promise.reject(new Error("the agent ended"))) ??
        new Promise<never>(() => {});
      try {
        return await Promise.race([work, interrupted.promise, processEnded]);
      } catch (error) {
        // Its output ends a moment before the process does.
        if (connection && !signal.aborted) await waitForExit(clock, connection.exited);
        const ended = connection && !connection.isOpen() && !signal.aborted ? await connection.exited : null;
        // After any failure the next turn starts a new process.
        await end("SIGINT");
        throw ended ? earlyExit(ended, lastStderr) : error;
      } finally {
        signal.removeEventListener("abort", interrupt);
      }
    },
    async prompt(text, turnListener) {
      if (!connection || sessionId === null)
        throw new ServiceError("dispatch_failed", "no conversation is open");
      listener = turnListener;
      try {
        return await connection.request(methods.agent.session.prompt, {
          sessionId,
          prompt: [{ type: "text", text }],
        });
      } finally {
        listener = null;
        lastUseMs = clock.nowMs();
      }
    },
    async cancel() {
      if (connection && sessionId !== null) {
        await connection.notify(methods.agent.session.cancel, { sessionId });
      }
    },
    tree,
    async endLeftovers(before) {
      const known = new Set(before.map(keyOf));
      const leftovers = (await tree()).filter((one) => !known.has(keyOf(one)));
      if (await waitForEnd(deps, leftovers, leftoversMs)) return;
      const { load, resume } = connection?.capabilities() ?? { load: false, resume: false };
      if (load || resume) await end("SIGINT");
      else await endProcesses(deps, leftovers, leftoversMs);
    },
    exited: () => connection?.exited ?? Promise.resolve({ exitCode: null, signal: null }),
    end,
    async close(graceMs) {
      const open = connection;
      if (!open?.isOpen()) return;
      open.close();
      await withinTime(clock, graceMs, open.exited);
      await end("SIGINT");
    },
  };
}

const exitWaitMs = 300;
/** How long processes that a turn started may take to end after a cancel. */
const leftoversMs = 1000;

const keyOf = ({ pid, startToken }: KnownProcess) => `${pid} ${startToken}`;

/** Resolves when the process has ended, at the latest after 300 ms. */
export async function waitForExit(clock: Clock, exited: Promise<unknown>): Promise<void> {
  await withinTime(clock, exitWaitMs, exited);
}

const minuteMs = 60_000;

/**
 * How long a load must wait. For `next_minute`: until the clock minute after that of the last use, which is
 * taken for the present one when it is not known. Pure.
 */
export function loadDelayMs(facts: {
  load: "at_once" | "next_minute" | undefined;
  nowMs: number;
  lastUseMs: number | null;
}): number {
  const { load, nowMs, lastUseMs } = facts;
  if (load !== "next_minute") return 0;
  const minuteOf = (ms: number) => Math.floor(ms / minuteMs);
  if (lastUseMs !== null && minuteOf(lastUseMs) !== minuteOf(nowMs)) return 0;
  // The agent reads its clock a moment later.
  return minuteMs - (nowMs % minuteMs) + 100;
}

function earlyExit(
  end: { exitCode: number | null; signal: string | null },
  lastStderr: string,
): ServiceError {
  const how = end.signal ?? `exit code ${end.exitCode ?? "unknown"}`;
  return new ServiceError(
    "dispatch_failed",
    `the agent ended before it took the prompt (${how})${lastStderr === "" ? "" : `: ${lastStderr}`}`,
  );
}

const decoder = new TextDecoder();

function lastLine(before: string, chunk: Uint8Array): string {
  const lines = decoder.decode(chunk).split("\n");
  return lines.findLast((line) => line.trim() !== "")?.slice(0, 500) ?? before;
}

/** Why a turn could not be begun, for people. */
export function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return error.message;
  const { code, data } = fieldsOf(error);
  if (code === -32000) return "the agent asks for a login first: log in with its own command, in a terminal";
  const details = textOf(fieldsOf(data)["details"]) ?? textOf(fieldsOf(data)["message"]) ?? textOf(data);
  return details === null ? messageOf(error) : `${messageOf(error)}: ${details}`;
}
