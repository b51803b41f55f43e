import type { DemoLogRecord } from "../../../src/services/demo/log.ts";
import { next } from "../../../src/services/demo/model.ts";
import { type Frame, render, type Size } from "../../../src/services/demo/screen.ts";
import {
  createDemoState,
  type DemoEffect,
  type DemoEvent,
  nextWakeMs,
} from "../../../src/services/demo/state.ts";
import { type HostileScript, parseHostileScript } from "../../support/hostile/script.ts";

type Kind = DemoLogRecord["kind"];

/** The pure agent on a clock of its own: what a test types and when, and what came of it. */
export function driveDemo(script: Omit<HostileScript, "schema_version"> = {}, speed = 1) {
  const parsed = parseHostileScript(JSON.stringify({ schema_version: 1, ...script }));
  if ("errors" in parsed) throw new Error(parsed.errors.join("; "));
  let state = createDemoState({ ...parsed, speed });
  let nowMs = 0;
  const effects: DemoEffect[] = [];
  const feed = (event: DemoEvent) => {
    const step = next(state, event);
    state = step.state;
    effects.push(...step.effects);
  };
  feed({ kind: "started", pid: 1, cols: 80, rows: 24, atMs: 0 });

  const agent = {
    /** Keys and text as the terminal sends them. */
    press(bytes: string) {
      feed({ kind: "bytes", bytes: new TextEncoder().encode(bytes), atMs: nowMs });
      return agent;
    },
    paste: (text: string) => agent.press(`\x1b[200~${text.replaceAll("\n", "\r")}\x1b[201~`),
    /** Lets time pass with exactly the ticks that the agent asks for. */
    wait(delayMs: number) {
      const untilMs = nowMs + delayMs;
      for (let wake = nextWakeMs(state); wake !== null && wake <= untilMs; wake = nextWakeMs(state)) {
        nowMs = wake;
        feed({ kind: "tick", atMs: nowMs });
      }
      nowMs = untilMs;
      return agent;
    },
    /** Lets time pass with one late tick. */
    oversleep(delayMs: number) {
      nowMs += delayMs;
      feed({ kind: "tick", atMs: nowMs });
      return agent;
    },
    stop(why: string) {
      feed({ kind: "stop", why, atMs: nowMs });
      return agent;
    },
    log: <K extends Kind>(kind: K) =>
      effects.flatMap((effect) =>
        effect.kind === "log" && effect.record.kind === kind
          ? [effect.record as Extract<DemoLogRecord, { kind: K }>]
          : [],
      ),
    /** All records, without keys and typed text, as `kind`. */
    story: () =>
      effects.flatMap((effect) =>
        effect.kind === "log" && !["key", "typed", "started"].includes(effect.record.kind)
          ? [effect.record.kind]
          : [],
      ),
    exits: () => effects.filter((effect) => effect.kind === "exit"),
    wakeMs: () => nextWakeMs(state),
    state: () => state,
    frame: (size: Size = { cols: 80, rows: 24 }): Frame => render(state, size),
    /** The screen without styling. */
    screen: (size: Size = { cols: 80, rows: 24 }) =>
      render(state, size)
        .rows.map((row) => Bun.stripANSI(row).trimEnd())
        .join("\n"),
  };
  return agent;
}
