import { describe, expect, test } from "bun:test";
import { adviseInShort } from "../../../../src/cli/command-line/short-remedies.ts";
import {
  createInitialState,
  type DashboardEffect,
  type DashboardEvent,
  type DashboardState,
  reduce,
  shownRows,
} from "../../../../src/cli/dashboard/state.ts";
import { agentSnapshot, agentState, question } from "../../../support/agent-snapshots.ts";
import { fleet, key, text } from "../../../support/dashboard-events.ts";

const now = Date.UTC(2026, 0, 1, 0, 1);
const paste = (pasted: string): DashboardEvent => ({ kind: "input", input: { kind: "paste", text: pasted } });
const ended = (number: number, failed: boolean, said: string): DashboardEvent => ({
  kind: "ended",
  number,
  failed,
  text: said,
});
const asking = (name: string, asked = "Go on?", options?: string[]) =>
  agentSnapshot(name, { attention: { decision: question(asked, options) } });

/** The state after all events, and the effects of all of them. */
function drive(...events: DashboardEvent[]): { state: DashboardState; effects: DashboardEffect[] } {
  let state = createInitialState(adviseInShort);
  const effects: DashboardEffect[] = [];
  for (const event of events) {
    const step = reduce(state, event, now);
    state = step.state;
    effects.push(...step.effects);
  }
  return { state, effects };
}

const names = (state: DashboardState) => shownRows(state).map(({ name }) => name);
const three = fleet(agentSnapshot("ann"), agentSnapshot("bob"), agentSnapshot("cyd"));

describe("the list", () => {
  test("has agents that wait first, the longest waiting one first of all, then all others by name", () => {
    const { state } = drive(
      fleet(
        agentSnapshot("ann"),
        agentSnapshot("bob", { state: agentState("active") }),
        agentSnapshot("cyd", {
          attention: { decision: question("Late?", ["Yes"], "2026-01-01T00:00:30.000+00:00") },
        }),
        asking("dan"),
      ),
    );
    expect(names(state)).toEqual(["dan", "cyd", "ann", "bob"]);
    expect(state.rows.map(({ state: shown }) => shown)).toEqual(["asks", "asks", "ready", "busy"]);
  });

  test.each([
    { keys: [], want: "ann" },
    { keys: ["j"], want: "bob" },
    { keys: ["j", "j", "j", "j"], want: "cyd" },
    { keys: ["j", "j", "k"], want: "bob" },
    { keys: ["k"], want: "ann" },
    { keys: ["G"], want: "cyd" },
    { keys: ["G", "g"], want: "ann" },
  ])("$keys selects $want", ({ keys, want }) => {
    expect(drive(three, ...keys.map(text)).state.selected).toBe(`id-${want}`);
  });

  test("arrows, Home and End do the same", () => {
    const after = (...keys: string[]) => drive(three, ...keys.map(key)).state.selected;
    expect(after("Down", "Down", "Up")).toBe("id-bob");
    expect(after("End")).toBe("id-cyd");
    expect(after("End", "Home")).toBe("id-ann");
  });

  test("keeps the agent selected when the order changes, and selects the next one when it is gone", () => {
    const reordered = fleet(agentSnapshot("ann"), agentSnapshot("bob"), asking("cyd"));
    expect(drive(three, text("j"), reordered).state.selected).toBe("id-bob");
    const without = fleet(agentSnapshot("ann"), agentSnapshot("cyd"));
    expect(drive(three, text("j"), without).state.selected).toBe("id-cyd");
    expect(drive(three, text("G"), without, fleet(agentSnapshot("ann"))).state.selected).toBe("id-ann");
    expect(drive(three, fleet()).state.selected).toBeNull();
  });

  test("says since when an agent is busy: from its gateway, else from the change that was seen", () => {
    const busy = { state: agentState("active") };
    const started = agentSnapshot("ann", { ...busy, turnSinceUtc: "2026-01-01T00:00:10.000+00:00" });
    expect(drive(fleet(started)).state.rows[0]?.sinceMs).toBe(now - 50_000);
    expect(drive(fleet(agentSnapshot("ann", busy))).state.rows[0]?.sinceMs).toBeNull();
    const seen = drive(fleet(agentSnapshot("ann")), fleet(agentSnapshot("ann", busy)));
    expect(seen.state.rows[0]?.sinceMs).toBe(now);
  });

  test.each([
    { change: { answered: false, state: null }, want: "?" },
    { change: { gone: true, state: null }, want: "gone" },
    { change: { state: null }, want: "unavailable" },
    { change: { attention: { programEnded: { sinceUtc: null } } }, want: "dead" },
    {
      change: { attention: { gateway: { state: "dead" as const, why: "it was killed" } } },
      want: "no gateway",
    },
    {
      change: {
        attention: {
          gateway: { state: "dead" as const, why: "it was killed" },
          decision: question("Go on?"),
        },
      },
      want: "asks",
    },
  ])("an agent that does not work says $want", ({ change, want }) => {
    expect(drive(fleet(agentSnapshot("ann", change))).state.rows[0]?.state).toBe(want);
  });

  test("a command for no agent does nothing", () => {
    const { state, effects } = drive(fleet(), text("pais"), key("Enter"));
    expect([state.mode.kind, effects]).toEqual(["list", []]);
  });
});

describe("a prompt", () => {
  const prompting = (prompt: string, agentId = "id-ann") => ({ do: "prompt" as const, agentId, prompt });

  test("goes to the agent that was selected when it was begun", () => {
    const { effects, state } = drive(three, text("jpsay s and q"), fleet(asking("ann")), key("Enter"));
    expect(effects).toEqual([{ kind: "run", number: 1, action: prompting("say s and q", "id-bob") }]);
    expect(state.running).toMatchObject([{ number: 1, what: 'giving "bob" a prompt' }]);
  });

  test("is edited as in a shell, and a pasted text is part of it", () => {
    const { effects } = drive(
      three,
      text("p"),
      text("one two"),
      key("C-w"),
      text("three"),
      key("C-a"),
      text("> "),
      key("C-e"),
      key("C-j"),
      paste("pasted\nlines"),
      key("Backspace"),
      key("Left"),
      text("é"),
      key("Enter"),
    );
    expect(effects).toEqual([{ kind: "run", number: 1, action: prompting("> one three\npasted\nlinée") }]);
  });

  test("drops control characters of a paste", () => {
    const { effects } = drive(three, text("p"), paste("a\x1b[31mb\x07"), key("Enter"));
    expect(effects).toEqual([{ kind: "run", number: 1, action: prompting("a[31mb") }]);
  });

  test("of nothing but blanks is none", () => {
    const { effects, state } = drive(three, text("p  "), key("Enter"));
    expect([effects, state.mode.kind]).toEqual([[], "list"]);
  });

  test("comes back for editing when it was left or refused, and not when it was accepted", () => {
    const again = [text("p"), key("Enter")];
    const run = (number: number) => ({ kind: "run" as const, number, action: prompting("do it") });
    const left = drive(three, text("pdo it"), key("Escape"), ...again);
    expect(left.effects).toEqual([run(1)]);
    const refused = drive(
      three,
      text("pdo it"),
      key("Enter"),
      ended(1, true, "the queue is closed"),
      ...again,
    );
    expect(refused.effects).toEqual([run(1), run(2)]);
    const accepted = drive(three, text("pdo it"), key("Enter"), ended(1, false, "accepted"), ...again);
    expect(accepted.effects).toEqual([run(1)]);
  });

  test("its outcome is shown with the agent's name", () => {
    const { state } = drive(three, text("pdo it"), key("Enter"), ended(1, true, "the queue is closed"));
    expect(state.notice).toEqual({ text: "ann: the queue is closed", failed: true });
    expect(state.running).toEqual([]);
  });
});

describe("an answer", () => {
  test("is a digit for the question that is shown, of this instance of the agent", () => {
    const { effects, state } = drive(fleet(asking("ann")), text("a2"));
    const item = state.rows[0]?.items[0];
    expect(item?.id).toStartWith("question-");
    expect(effects).toEqual([
      { kind: "run", number: 1, action: { do: "answer", id: item?.id ?? "", answer: "2", epoch: 3 } },
    ]);
    expect(state.mode.kind).toBe("list");
  });

  test("that is not offered does nothing, and a digit in the list answers nothing", () => {
    expect(drive(fleet(asking("ann")), text("a3"))).toMatchObject({
      effects: [],
      state: { mode: { kind: "answer" } },
    });
    expect(drive(fleet(asking("ann")), text("123")).effects).toEqual([]);
  });

  test.each([
    { id: "another question", next: asking("ann", "Delete all?") },
    {
      id: "the same question with other options",
      next: agentSnapshot("ann", {
        attention: { decision: { ...question("Go on?", ["No", "Yes"]), id: "other" } },
      }),
    },
    {
      id: "the same question of another instance",
      next: agentSnapshot("ann", { attention: { decision: question("Go on?"), epoch: 4 } }),
    },
    { id: "no question", next: agentSnapshot("ann") },
  ])("does not go to $id", ({ next }) => {
    const { effects, state } = drive(fleet(asking("ann")), text("a"), fleet(next), text("1"));
    expect(effects).toEqual([]);
    expect(state.mode.kind).toBe("list");
    const { notice } = drive(fleet(asking("ann")), text("a"), fleet(next)).state;
    expect(notice?.text).toBe('the question of "ann" is over: it was answered, withdrawn or replaced');
  });

  test("stays open while other things change", () => {
    const { effects } = drive(
      fleet(asking("ann")),
      text("a"),
      fleet(asking("ann"), asking("bob", "Mine?")),
      text("1"),
    );
    expect(effects).toMatchObject([
      { kind: "run", action: { do: "answer", id: expect.any(String), answer: "1", epoch: 3 } },
    ]);
  });

  test("is refused in words where there is nothing to answer, or nothing that keys can answer", () => {
    expect(drive(three, text("a")).state.notice?.text).toBe('"ann" asks nothing');
    const unread = { ...question("Which one?", []), unread: "its options could not be read" };
    const { state } = drive(fleet(agentSnapshot("ann", { attention: { decision: unread } })), text("a"));
    expect(state.notice?.text).toBe(
      'the question of "ann" can only be answered in its terminal: Enter opens it',
    );
  });
});

describe("other commands", () => {
  describe("d", () => {
    const waiting = [
      { requestId: "gwreq-1", from: "a person", text: "first" },
      { requestId: "gwreq-2", from: "lead", text: "second" },
    ];
    const queue = (name: string, prompts: typeof waiting | []): DashboardEvent => ({
      kind: "queue",
      agentId: `id-${name}`,
      waiting: prompts,
    });

    test("reads what waits, and a digit withdraws it", () => {
      const { state, effects } = drive(three, text("d"), queue("ann", waiting), text("2"));
      expect(effects).toEqual([
        { kind: "read_queue", agentId: "id-ann" },
        {
          kind: "run",
          number: 1,
          action: { do: "withdraw", agentId: "id-ann", requestId: "gwreq-2" },
        },
      ]);
      expect(state.mode.kind).toBe("list");
    });

    test.each<{ id: string; events: DashboardEvent[]; mode: string }>([
      { id: "a digit before the answer", events: [text("1")], mode: "drop" },
      { id: "a digit without a prompt", events: [queue("ann", waiting), text("3")], mode: "drop" },
      { id: "a key that is no digit", events: [queue("ann", waiting), text("x")], mode: "drop" },
      { id: "Escape", events: [queue("ann", waiting), key("Escape")], mode: "list" },
      { id: "q", events: [queue("ann", waiting), text("q")], mode: "list" },
      { id: "an answer of another agent", events: [queue("bob", waiting), text("1")], mode: "drop" },
      { id: "an empty queue", events: [queue("ann", [])], mode: "list" },
      { id: "an answer after the person left", events: [key("Escape"), queue("ann", waiting)], mode: "list" },
    ])("withdraws nothing by $id", ({ events, mode }) => {
      const { state, effects } = drive(three, text("d"), ...events);
      expect(effects).toEqual([{ kind: "read_queue", agentId: "id-ann" }]);
      expect(state.mode.kind).toBe(mode as typeof state.mode.kind);
    });

    test("says that nothing waits", () => {
      const { state } = drive(three, text("d"), queue("ann", []));
      expect(state.notice).toEqual({ text: 'nothing waits for "ann"', failed: false });
    });
  });

  test("Enter attaches, i interrupts", () => {
    const { effects } = drive(three, key("Enter"), text("ji"));
    expect(effects).toEqual([
      { kind: "attach", agentId: "id-ann" },
      { kind: "run", number: 1, action: { do: "interrupt", agentId: "id-bob" } },
    ]);
  });

  test("after attaching everything is drawn again, and a refusal is shown", () => {
    const { effects, state } = drive(three, { kind: "detached", failed: true, text: "its session is gone" });
    expect(effects).toEqual([{ kind: "repaint" }]);
    expect(state.notice).toEqual({ text: "its session is gone", failed: true });
  });

  test("s stops only after y", () => {
    const stop = { kind: "run", number: 1, action: { do: "stop", agentId: "id-ann" } };
    expect(drive(three, text("sy")).effects).toEqual([stop as DashboardEffect]);
    for (const no of [text("n"), text("s"), key("Enter"), key("Escape")]) {
      expect(drive(three, text("s"), no)).toMatchObject({ effects: [], state: { mode: { kind: "list" } } });
    }
  });

  test("an agent that the person stops is no trouble meanwhile, and leaves the list at once", () => {
    const dying = fleet(
      agentSnapshot("ann", { attention: { gateway: { state: "silent", why: "no answer" } } }),
    );
    const stopping = drive(fleet(agentSnapshot("ann")), text("sy"), dying).state;
    expect(stopping.rows).toMatchObject([{ name: "ann", state: "stopping", items: [], problem: null }]);
    const over = drive(
      fleet(agentSnapshot("ann"), agentSnapshot("bob")),
      text("sy"),
      ended(1, false, 'stopped "ann"'),
    );
    expect([names(over.state), over.state.selected]).toEqual([["bob"], "id-bob"]);
    const survived = drive(
      fleet(agentSnapshot("ann")),
      text("sy"),
      dying,
      ended(1, true, "it lives on"),
    ).state;
    expect(survived.rows).toMatchObject([{ name: "ann", state: "no gateway" }]);
  });

  test("a text pasted into the list is no run of commands", () => {
    expect(drive(three, paste("sy")).effects).toEqual([]);
  });

  test("the filter matches name, tool, state and kind of what waits, and keeps an agent selected", () => {
    const agents = fleet(agentSnapshot("ann"), agentSnapshot("bob"), asking("anton"));
    const shown = (filter: string) => names(drive(agents, text("/"), text(filter), key("Enter")).state);
    expect(shown("an")).toEqual(["anton", "ann"]);
    expect(shown("an ready")).toEqual(["ann"]);
    expect(shown("ASKS")).toEqual(["anton"]);
    expect(shown("question")).toEqual(["anton"]);
    expect(shown("zzz")).toEqual([]);
    const { state } = drive(agents, text("/bob"), key("Enter"), text("p"));
    expect(state.mode).toMatchObject({ kind: "prompt", agent: { name: "bob" } });
    expect(names(drive(agents, text("/bob"), key("Escape")).state)).toEqual(["anton", "ann", "bob"]);
    expect(names(drive(agents, text("/bob"), key("Enter"), key("Escape")).state)).toHaveLength(3);
  });

  test("any key closes the help and does nothing else", () => {
    expect(drive(three, text("?q"))).toMatchObject({ effects: [], state: { mode: { kind: "list" } } });
  });

  test("q and Ctrl-C leave, Ctrl-C from every dialog", () => {
    expect(drive(three, text("q")).effects).toEqual([{ kind: "quit" }]);
    for (const dialog of ["p", "pq", "s", "/", "?"]) {
      expect(drive(three, text(dialog), key("C-c")).effects).toEqual([{ kind: "quit" }]);
    }
  });

  test("leaving waits for what runs, and the second time it does not", () => {
    const stopping = [three, text("sy")];
    expect(drive(...stopping, text("q")).effects.slice(1)).toEqual([]);
    expect(drive(...stopping, text("q"), ended(1, false, 'stopped "ann"')).effects.slice(1)).toEqual([
      { kind: "quit" },
    ]);
    expect(drive(...stopping, text("qq")).effects.slice(1)).toEqual([{ kind: "quit" }]);
  });
});
