import type { Advise } from "../../protocol/remedy.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { assertNever, messageOf, runStep } from "../../system/errors.ts";
import { createLoop } from "../../system/lifecycle.ts";
import { awaitsSequence, emptyParser, flushInput, parseInput } from "../../system/terminal-input.ts";
import { renderDashboard } from "./render.ts";
import {
  createInitialState,
  type DashboardAction,
  type DashboardEffect,
  type DashboardEvent,
  reduce,
  type WaitingPrompt,
} from "./state.ts";
import type { DashboardTerminal, TerminalEvents } from "./terminal.ts";

/** What a command of the dashboard came to, as one sentence. */
export interface CommandOutcome {
  failed: boolean;
  text: string;
}

export interface DashboardDeps {
  clock: Clock;
  /** In the terms of the program that shows it. */
  advise: Advise;
  terminal: DashboardTerminal;
  /** Reports changes of all agents that run, until `stopped` aborts. */
  follow(
    on: {
      change(snapshots: readonly AgentSnapshot[]): void;
      source(coordinator: string | null): void;
      warning(text: string): void;
    },
    stopped: AbortSignal,
  ): Promise<void>;
  unreadMail(): Promise<readonly PersonMail[]>;
  /** Never rejects. */
  run(action: DashboardAction): Promise<CommandOutcome>;
  /** The prompts that wait for an agent, the next one first; a sentence where they cannot be read. Never rejects. */
  readQueue(agentId: string): Promise<readonly WaitingPrompt[] | string>;
  /** Shows the terminal of an agent in this one until the person leaves it. Never rejects. */
  attach(agentId: string): Promise<CommandOutcome>;
}

/** Ages are drawn again. */
const redrawMs = 1000;
const mailPollIntervalMs = 5000;
/** A lone ESC is the key when nothing follows it for so long. */
const escapeMs = 30;

/**
 * Shows all agents and works with them by keys, until the person leaves or `stopped` aborts. The terminal is
 * given back in each case, also before a rejection. Returns the last snapshots.
 */
export async function runDashboard(
  deps: DashboardDeps,
  stopped: AbortSignal,
): Promise<readonly AgentSnapshot[]> {
  const { clock, terminal } = deps;
  const over = new AbortController();
  const ended = AbortSignal.any([stopped, over.signal]);
  const failed = Promise.withResolvers<never>();
  let state = createInitialState(deps.advise);
  let parser = emptyParser;
  let attaching = Promise.resolve();
  let attached = false;
  let drawing: Promise<void> | null = null;
  let cancelFlush = () => {};

  /** A failure in a listener would end the process before the terminal is given back. */
  const guarded = (act: () => void) => {
    try {
      act();
    } catch (error) {
      failed.reject(error);
    }
  };

  function dispatch(event: DashboardEvent): void {
    guarded(() => {
      const step = reduce(state, event, clock.nowMs());
      state = step.state;
      for (const effect of step.effects) perform(effect);
      draw();
    });
  }

  function draw(): void {
    if (attached || ended.aborted || drawing) return;
    // Several events of one moment are one picture.
    drawing = Promise.resolve().then(async () => {
      drawing = null;
      if (attached || ended.aborted) return;
      const { canType } = terminal;
      await terminal.draw(renderDashboard(state, { ...terminal.size(), nowMs: clock.nowMs(), canType }));
    });
    drawing.catch(failed.reject);
  }

  function perform(effect: DashboardEffect): void {
    switch (effect.kind) {
      case "quit":
        over.abort();
        return;
      case "repaint":
        terminal.invalidate();
        return;
      case "run": {
        const { number, action } = effect;
        void deps.run(action).then((outcome) => dispatch({ kind: "ended", number, ...outcome }));
        return;
      }
      case "read_queue": {
        const { agentId } = effect;
        void deps.readQueue(agentId).then((read) => {
          if (typeof read !== "string") return dispatch({ kind: "queue", agentId, waiting: read });
          dispatch({ kind: "queue", agentId, waiting: [] });
          dispatch({ kind: "warning", text: read });
        });
        return;
      }
      case "attach":
        attaching = attach(effect.agentId);
        attaching.catch(failed.reject);
        return;
      default:
        assertNever(effect);
    }
  }

  async function attach(agentId: string): Promise<void> {
    attached = true;
    await terminal.close();
    const outcome = await deps.attach(agentId);
    if (ended.aborted) return;
    // What was typed in part went on to the agent.
    parser = emptyParser;
    await terminal.open(listeners);
    attached = false;
    dispatch({ kind: "detached", ...outcome });
  }

  function typed({ state: next, events }: ReturnType<typeof parseInput>): void {
    parser = next;
    for (const input of events) if (!attached && !ended.aborted) dispatch({ kind: "input", input });
    if (awaitsSequence(parser)) {
      cancelFlush = clock.after(escapeMs, () => guarded(() => typed(flushInput(parser))));
    }
  }

  const listeners: TerminalEvents = {
    bytes(bytes) {
      cancelFlush();
      guarded(() => typed(parseInput(parser, bytes)));
    },
    resized() {
      terminal.invalidate();
      draw();
    },
    ended: () => over.abort(),
  };

  const mail = createLoop({
    clock,
    async turn() {
      dispatch({ kind: "mail", mail: await runStep("unread mail", deps.unreadMail) });
      return mailPollIntervalMs;
    },
    onError: (error) => dispatch({ kind: "warning", text: messageOf(error) }),
  });

  async function redraw(): Promise<void> {
    while (!ended.aborted) {
      draw();
      await sleep(clock, redrawMs, ended);
    }
  }

  let following = Promise.resolve();
  try {
    await terminal.open(listeners);
    draw();
    following = deps.follow(
      {
        change(snapshots) {
          dispatch({ kind: "fleet", snapshots });
          mail.start();
        },
        source: (coordinator) => dispatch({ kind: "source", coordinator }),
        warning: (text) => dispatch({ kind: "warning", text }),
      },
      ended,
    );
    await Promise.race([Promise.all([following, redraw()]), failed.promise]);
    return state.snapshots;
  } finally {
    over.abort();
    cancelFlush();
    // The agent has the terminal until the person leaves it.
    await attaching.catch(() => {});
    await terminal.close();
    await Promise.allSettled([mail.stop(), following]);
  }
}
