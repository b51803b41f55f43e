import { maxScreens, ScreenEvent } from "../../../protocol/console.ts";
import { type Clock, sleep, timestampNow } from "../../../system/clock.ts";
import { messageOf } from "../../../system/errors.ts";
import { type Directory, openedAgent } from "../../fleet/directory.ts";
import { createEventSource } from "../../fleet/event-stream.ts";
import type { Links } from "../../fleet/links.ts";
import { frameAfter, paint, type Shown, showAbsent } from "./picture.ts";
import { followScreens, type ScreenItem, type ScreenSource } from "./screens.ts";

/**
 * The screens of all agents. The gateway of each that somebody looks at is followed once, however many look.
 */
export type FleetScreens = ReturnType<typeof createFleetScreens>;

/** For a viewer who scrolls back soon. */
const lingerMs = 5000;
/** Between two pictures of one agent for one viewer: more is not seen in a small one. */
const gapMs = 400;
const firstPauseMs = 250;
const maxPauseMs = 5000;
/** A gateway sends at least a heartbeat every 15 s. */
const silentMs = 45_000;

interface Followed extends ScreenSource {
  stop(): Promise<void>;
}

export function createFleetScreens(deps: { directory: Directory; links: Links; clock: Clock }) {
  const { directory, links, clock } = deps;
  const followed = new Map<string, Followed>();
  const closed = new AbortController();

  const unseen = (agentId: string, why: string): ScreenSource => ({
    shown: () => ({ absent: why, agentId, atUtc: timestampNow(clock), revision: 1 }),
    subscribe: () => () => {},
  });

  function sourceOf(ref: string): ScreenSource {
    try {
      const agent = directory.resolve(ref);
      const id = agent.record.agent_id;
      const known = followed.get(id);
      if (known) return known;
      if (followed.size >= maxScreens)
        return unseen(id, `${maxScreens} screens are shown already; look at fewer at a time`);
      const source = createFollowed({
        clock,
        agentId: id,
        links,
        signal: closed.signal,
        agent: () => openedAgent(directory.resolve(id)),
        onIdle: () => followed.delete(id),
      });
      followed.set(id, source);
      return source;
    } catch (error) {
      return unseen(ref, messageOf(error));
    }
  }

  return {
    // Connections are made for a stream that is read.
    /** `agents`: ids, as the query gives them. Until `signal` aborts. */
    async *follow(agents: readonly string[], signal: AbortSignal): AsyncGenerator<ScreenItem> {
      yield* followScreens({
        clock,
        gapMs,
        signal: AbortSignal.any([signal, closed.signal]),
        sources: [...new Set(agents)].slice(0, maxScreens).map(sourceOf),
      });
    },
    /** Connections to gateways that are held open. */
    following: (): number => followed.size,
    async stop(): Promise<void> {
      closed.abort();
      await Promise.all([...followed.values()].map((source) => source.stop()));
    },
  };
}

/** Follows the stream of one gateway from the first subscriber to some seconds after the last one. */
function createFollowed(deps: {
  clock: Clock;
  links: Links;
  agentId: string;
  agent: () => ReturnType<typeof openedAgent>;
  signal: AbortSignal;
  onIdle: () => void;
}): Followed {
  const { clock, links, agentId } = deps;
  const viewers = new Set<() => void>();
  let shown: Shown | null = null;
  let running: { abort: AbortController; ended: Promise<void> } | null = null;
  let cancelLinger = () => {};

  function show(next: Shown | null): void {
    if (next === shown) return;
    shown = next;
    for (const wake of [...viewers]) wake();
  }

  function take(event: ScreenEvent): void {
    if (event.kind === "screen_absent") {
      show(showAbsent(agentId, shown, event.reason, event.at_utc));
      return;
    }
    const frame = frameAfter(shown, event);
    if (frame) show(paint(agentId, shown, frame));
  }

  /** One connection; resolves with why it ended. */
  async function connect(signal: AbortSignal): Promise<{ connected: boolean; why: string }> {
    const agent = deps.agent();
    const link = await links.to(agent);
    if (link.state !== "live") return { connected: false, why: link.why };
    const silent = new AbortController();
    const opened = await link.client.openScreen({ signal: AbortSignal.any([signal, silent.signal]) });
    if (opened.kind !== "ok") {
      links.doubt(agent);
      return { connected: false, why: opened.detail };
    }
    const source = createEventSource(ScreenEvent);
    const reader = opened.body.getReader();
    for (;;) {
      const cancel = clock.after(silentMs, () => silent.abort());
      try {
        const part = await reader.read();
        if (part.done) return { connected: true, why: "the gateway ended" };
        for (const event of source.push(part.value)) take(event);
      } catch {
        return { connected: true, why: "the connection to the gateway was lost" };
      } finally {
        cancel();
      }
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const { connected, why } = await connect(signal).catch((error: unknown) => ({
        connected: false,
        why: messageOf(error),
      }));
      if (signal.aborted) return;
      show(showAbsent(agentId, shown, why, timestampNow(clock)));
      pauseMs = connected ? firstPauseMs : Math.min(pauseMs * 2, maxPauseMs);
      await sleep(clock, pauseMs, signal);
    }
  }

  async function stop(): Promise<void> {
    cancelLinger();
    const mine = running;
    running = null;
    mine?.abort.abort();
    await mine?.ended;
  }

  return {
    shown: () => shown,
    subscribe(wake) {
      cancelLinger();
      viewers.add(wake);
      if (running === null && !deps.signal.aborted) {
        const abort = new AbortController();
        running = { abort, ended: run(abort.signal) };
      }
      return () => {
        viewers.delete(wake);
        if (viewers.size > 0) return;
        cancelLinger = clock.after(lingerMs, () => {
          deps.onIdle();
          void stop();
        });
      };
    },
    stop,
  };
}
