import { describe, expect, test } from "bun:test";
import { next } from "../../../src/services/demo/model.ts";
import { parseDemoScript } from "../../../src/services/demo/script.ts";
import { createDemoState, type DemoEffect, type DemoEvent } from "../../../src/services/demo/state.ts";

function setup() {
  let state = createDemoState({ script: { schema_version: 1, program: ["work", "-x"] }, speed: 1 });
  const effects: DemoEffect[] = [];
  const happen = (atMs: number, event: Record<string, unknown>) => {
    const step = next(state, { ...event, atMs } as DemoEvent);
    state = step.state;
    effects.push(...step.effects);
  };
  happen(0, { kind: "started", pid: 1, cols: 80, rows: 24 });
  return {
    happen,
    type: (atMs: number, text: string) =>
      happen(atMs, { kind: "bytes", bytes: new TextEncoder().encode(text) }),
    phase: () => state.phase.kind,
    orders: () => effects.filter((effect) => effect.kind.startsWith("program")),
    results: () =>
      effects.flatMap((effect) =>
        effect.kind === "log" && effect.record.kind === "turn_ended" ? [effect.record.result] : [],
      ),
  };
}
const prompt = "\u001b[200~two\rlines\u001b[201~\r";
const order = { kind: "program", turn: 1, command: ["work", "-x"], prompt: "two\nlines" } as const;

describe("the scripted agent with a program", () => {
  test("has it work every prompt, for as long as it takes", () => {
    const agent = setup();
    agent.type(10, prompt);
    agent.happen(60_000, { kind: "tick" });
    expect([agent.orders(), agent.phase()]).toEqual([[order], "busy"]);
    agent.happen(60_001, { kind: "program_ended", turn: 1, code: 0 });
    expect([agent.phase(), agent.results()]).toEqual(["idle", ["success"]]);
  });

  test("shows a failure of the program as a turn's", () => {
    const agent = setup();
    agent.type(10, prompt);
    agent.happen(20, { kind: "program_ended", turn: 1, code: 3 });
    expect([agent.phase(), agent.results()]).toEqual(["idle", ["error"]]);
  });

  test("ends it when the turn is interrupted, and its late end concerns no other turn", () => {
    const agent = setup();
    agent.type(10, prompt);
    agent.type(1_000, "\u001b");
    agent.happen(2_000, { kind: "tick" });
    expect([agent.phase(), agent.orders()]).toEqual(["idle", [order, { kind: "program_stop", turn: 1 }]]);
    agent.type(3_000, prompt);
    agent.happen(3_001, { kind: "program_ended", turn: 1, code: null });
    expect([agent.phase(), agent.results()]).toEqual(["busy", ["interrupted"]]);
  });

  test("a slash command is no work for it", () => {
    const agent = setup();
    agent.type(10, "\u001b[200~/help\u001b[201~\r");
    expect([agent.orders(), agent.phase()]).toEqual([[], "idle"]);
  });

  test("an empty command is refused", () => {
    expect(parseDemoScript('{"schema_version":1,"program":[]}')).toHaveProperty("errors");
  });
});
