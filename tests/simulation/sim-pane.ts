import { shownText } from "../../src/services/demo/composer.ts";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { next } from "../../src/services/demo/model.ts";
import { type Frame, render } from "../../src/services/demo/screen.ts";
import type { MailRound } from "../../src/services/demo/script.ts";
import {
  createDemoState,
  type DemoEvent,
  type DemoState,
  deadlines,
  isPainting,
} from "../../src/services/demo/state.ts";
import { createInterference } from "../support/hostile/interference.ts";
import type { HostileScript } from "../support/hostile/script.ts";
import type { SimClock } from "./sim-clock.ts";

export const paneSize = { cols: 120, rows: 36 };

/** What stands in a pane, as who looks at it can see. */
interface Surface {
  /** `shell`: the agent has ended. `foreign`: a program that is none of ours. */
  program: "agent" | "shell" | "foreign";
  busy: boolean;
  deciding: boolean;
  /** What stands in the composer. */
  draft: string;
}

/** The scripted agent in its pane, until it ends and leaves a shell. */
export interface SimPane {
  surface(): Surface;
  frame(): Frame;
  /** Bytes that reach the program. */
  input(bytes: string): void;
  /** The program ends at once, as by a signal. */
  end(): void;
  /** Nothing of it happens any more: the pane is gone. */
  close(): void;
  mailRoundEnded(turn: number, problem: string | null): void;
}

export interface SimPaneDeps {
  clock: SimClock;
  script: HostileScript;
  /** Something else than the agent runs in it from the start. */
  foreign?: boolean;
  /** Something may have changed on the screen. */
  onOutput: () => void;
  onLog: (record: DemoLogRecord) => void;
  onMailRound: (turn: number, round: MailRound) => void;
}

/** A busy screen is repainted this often; the real one does it every 100 ms. */
const repaintMs = 1000;

export function createSimPane(deps: SimPaneDeps): SimPane {
  const { clock, script, foreign = false } = deps;
  const startedMs = clock.nowMs();
  const interference = createInterference(script);
  let state: DemoState = createDemoState({ script, speed: 1, interference });
  /** What is on the screen: of the last state that was painted. */
  let painted = state;
  let frame: Frame | null = null;
  let ended = foreign;
  let closed = false;
  let alarm = 0;

  type Happening = DemoEvent extends infer E ? (E extends DemoEvent ? Omit<E, "atMs"> : never) : never;

  function happen(event: Happening): void {
    if (ended || closed) return;
    const step = next(state, { ...event, atMs: clock.nowMs() - startedMs } as DemoEvent);
    state = step.state;
    for (const effect of step.effects) {
      if (effect.kind === "log") deps.onLog(effect.record);
      else if (effect.kind === "exit") ended = true;
      else if (effect.kind === "mail_round") deps.onMailRound(effect.turn, effect.round);
    }
    if (isPainting(state) || ended) show();
    if (!ended) setAlarm();
  }

  function show(): void {
    painted = state;
    frame = null;
    deps.onOutput();
  }

  function setAlarm(): void {
    const mine = ++alarm;
    const due = deadlines(state)[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const repaint = state.phase.kind === "busy" ? state.nowMs + repaintMs : Number.POSITIVE_INFINITY;
    const wakeMs = Math.min(due, repaint);
    if (!Number.isFinite(wakeMs)) return;
    clock.after(startedMs + wakeMs - clock.nowMs(), () => {
      if (mine === alarm) happen({ kind: "tick" });
    });
  }

  function screen(): Frame {
    if (foreign) return { rows: ["$ top"], cursor: { row: 0, col: 5 }, title: "" };
    if (painted.phase.kind === "starting") return { rows: [], cursor: { row: 0, col: 0 }, title: "" };
    const last = render(painted, paneSize);
    if (!ended) return last;
    return {
      rows: [...last.rows, "$ "].slice(-paneSize.rows),
      cursor: { row: paneSize.rows - 1, col: 2 },
      title: "",
    };
  }

  happen({ kind: "started", pid: 1, ...paneSize });

  return {
    surface: () => ({
      program: foreign ? "foreign" : ended ? "shell" : "agent",
      busy: painted.phase.kind === "busy",
      deciding: painted.phase.kind === "dialog",
      draft: shownText(painted.composer),
    }),
    frame() {
      frame ??= screen();
      return frame;
    },
    input: (bytes) => happen({ kind: "bytes", bytes: Buffer.from(bytes, "latin1") }),
    end() {
      if (ended) return;
      ended = true;
      show();
    },
    close() {
      closed = true;
    },
    mailRoundEnded: (turn, problem) => happen({ kind: "mail_round_ended", turn, problem }),
  };
}
