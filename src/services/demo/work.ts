import type { DemoLogEntry } from "./log.ts";
import type { MailRound } from "./mail-round.ts";
import { isChosen } from "./occasion.ts";
import type { BehaviourName, Hostile } from "./script.ts";
import type { Cell, DemoEffect, DemoState } from "./state.ts";

/** One step of the model under way: the state so far and the effects so far. Lives inside one `next` call. */
export interface Work {
  readonly state: DemoState;
  readonly effects: readonly DemoEffect[];
  set(patch: Partial<DemoState>): void;
  log(entry: DemoLogEntry): void;
  /** Counts an occasion of the behaviour; its parameters when the script chose this one, else null. */
  chosen<N extends BehaviourName>(name: N): NonNullable<Hostile[N]> | null;
  show(...cells: Cell[]): void;
  /** Has the hands work a round of mail. */
  workMail(turn: number, round: MailRound): void;
  /** Has the hands run the script's program, or end it. */
  runProgram(turn: number, command: readonly string[], prompt: string): void;
  stopProgram(turn: number): void;
  /** Ends the agent. `restore` false is a crash. */
  exit(code: number, why: string, restore: boolean): void;
}

export const CRASH_CODE = 3;
const MOST_CELLS = 400;

export function createWork(given: DemoState): Work {
  let state = given;
  const effects: DemoEffect[] = [];
  const work: Work = {
    get state() {
      return state;
    },
    effects,
    set(patch) {
      state = { ...state, ...patch };
    },
    log(entry) {
      const n = state.counts.logLines + 1;
      work.set({ counts: { ...state.counts, logLines: n } });
      effects.push({ kind: "log", record: { at_ms: Math.round(state.nowMs), n, ...entry } });
    },
    chosen(name) {
      const behaviour = state.script.hostile?.[name];
      if (!behaviour) return null;
      const ordinal = (state.occasions[name] ?? 0) + 1;
      work.set({ occasions: { ...state.occasions, [name]: ordinal } });
      return isChosen(behaviour, state.script.seed ?? 0, name, ordinal) ? behaviour : null;
    },
    workMail(turn, round) {
      effects.push({ kind: "mail_round", turn, round });
    },
    runProgram(turn, command, prompt) {
      effects.push({ kind: "program", turn, command, prompt });
    },
    stopProgram(turn) {
      effects.push({ kind: "program_stop", turn });
    },
    show(...cells) {
      work.set({ cells: [...state.cells, ...cells].slice(-MOST_CELLS) });
    },
    exit(code, why, restore) {
      work.log({ kind: "exited", code, why });
      work.set({ phase: { kind: "gone" } });
      effects.push({ kind: "exit", code, restore });
    },
  };
  return work;
}
