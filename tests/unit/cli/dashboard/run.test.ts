import { describe, expect, test } from "bun:test";
import { adviseInShort } from "../../../../src/cli/command-line/short-remedies.ts";
import type { Frame } from "../../../../src/cli/dashboard/render.ts";
import { type CommandOutcome, type DashboardDeps, runDashboard } from "../../../../src/cli/dashboard/run.ts";
import type { DashboardTerminal, TerminalEvents } from "../../../../src/cli/dashboard/terminal.ts";
import type { AgentSnapshot } from "../../../../src/services/fleet/fleet-list.ts";
import { aborted } from "../../../../src/system/clock.ts";
import { agentSnapshot, question } from "../../../support/agent-snapshots.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const asking = agentSnapshot("ann", { attention: { decision: question("Go on?") } });

/** The dashboard at a terminal of 80 x 12 that remembers what happened to it. */
function start(change: Partial<DashboardDeps> = {}) {
  const clock = createFakeClock();
  const history: string[] = [];
  const commands: { asked: unknown; end: (outcome: CommandOutcome) => void }[] = [];
  const stop = new AbortController();
  let frame: Frame = { rows: [], cursor: null };
  let events: TerminalEvents | null = null;
  const terminal: DashboardTerminal = {
    canType: true,
    size: () => ({ columns: 80, rows: 12 }),
    async open(on) {
      if (events === null) history.push("open");
      events = on;
    },
    async draw(drawn) {
      frame = drawn;
    },
    invalidate: () => void history.push("invalidate"),
    async close() {
      if (events !== null) history.push("close");
      events = null;
    },
  };
  const run = (asked: unknown) =>
    new Promise<CommandOutcome>((resolve) => commands.push({ asked, end: resolve }));
  let report: (snapshots: readonly AgentSnapshot[]) => void = () => {};
  const ended = runDashboard(
    {
      clock,
      advise: adviseInShort,
      terminal,
      run,
      attach: run,
      readQueue: async () => [{ requestId: "gwreq-1", from: "lead", text: "go on" }],
      unreadMail: async () => [],
      async follow(on, stopped) {
        report = on.change;
        on.change([asking]);
        await aborted(stopped);
      },
      ...change,
    },
    stop.signal,
  );
  return {
    clock,
    history,
    commands,
    stop,
    ended,
    type: async (typed: string) => {
      events?.bytes(new TextEncoder().encode(typed));
      await clock.advance(0);
    },
    endInput: () => events?.ended(),
    resize: () => events?.resized(),
    see: (...snapshots: AgentSnapshot[]) => report(snapshots),
    lines: async () => {
      await clock.advance(0);
      return frame.rows.map(({ text }) => text);
    },
  };
}

describe("the dashboard", () => {
  test("runs what is typed, in pieces too, and shows how it ended", async () => {
    const { type, commands, lines, clock, ended } = start();
    await clock.advance(0);
    await type("pgo");
    await type(" on\r");
    expect(commands[0]?.asked).toEqual({ do: "prompt", agentId: "id-ann", prompt: "go on" });
    expect((await lines())[0]).toBe('1 agent, 1 waits for you, giving "ann" a prompt …');
    commands[0]?.end({ failed: false, text: "accepted" });
    expect((await lines()).at(-2)).toBe("ann: accepted");
    await type("q");
    expect(await ended).toEqual([asking]);
  });

  test("reads what waits and withdraws the prompt of a digit", async () => {
    const { type, commands, lines, clock, ended } = start();
    await clock.advance(0);
    await type("d");
    expect(await lines()).toContain("  1. go on (from lead)");
    await type("1");
    expect(commands[0]?.asked).toEqual({ do: "withdraw", agentId: "id-ann", requestId: "gwreq-1" });
    commands[0]?.end({ failed: false, text: 'withdrew "go on"' });
    expect((await lines()).at(-2)).toBe('ann: withdrew "go on"');
    await type("q");
    await ended;
  });

  test("says why what waits cannot be read", async () => {
    const { type, lines, clock, stop, ended } = start({ readQueue: async () => "no gateway answers" });
    await clock.advance(0);
    await type("d");
    expect((await lines()).slice(-2)).toEqual([
      "no gateway answers",
      expect.stringContaining("Enter attach"),
    ]);
    stop.abort();
    await ended;
  });

  test("takes a lone ESC for the key after a moment, and the begin of an arrow for none", async () => {
    const { type, lines, clock, stop, ended } = start();
    await clock.advance(0);
    await type("a\x1b");
    expect((await lines()).at(-1)).toBe("1-9 answer  Escape leave it open");
    await type("[A");
    expect((await lines()).at(-1)).toStartWith("Enter attach");
    await type("a\x1b");
    await clock.advance(30);
    expect((await lines()).at(-1)).toStartWith("Enter attach");
    stop.abort();
    await ended;
  });

  test("gives the terminal to the agent and takes it again", async () => {
    const { type, history, commands, see, lines, clock, ended } = start();
    await clock.advance(0);
    await type("\r");
    expect(history).toEqual(["open", "close"]);
    expect(commands[0]?.asked).toBe("id-ann");
    see(asking, agentSnapshot("bob"));
    commands[0]?.end({ failed: true, text: "its session is gone" });
    expect((await lines()).at(-2)).toBe("its session is gone");
    expect((await lines())[0]).toBe("2 agents, 1 waits for you");
    expect(history).toEqual(["open", "close", "open", "invalidate"]);
    await type("q");
    await ended;
    expect(history.at(-1)).toBe("close");
  });

  test("after the agent it reads keys again, whatever was typed in part before", async () => {
    const { type, commands, clock, ended } = start();
    await clock.advance(0);
    await type("\r\x1b[200~the begin of a paste");
    commands[0]?.end({ failed: false, text: "" });
    await clock.advance(0);
    await type("q");
    await ended;
  });

  test("draws ages again each second, and everything after a change of the size", async () => {
    const { lines, clock, resize, history, stop, ended } = start();
    expect((await lines())[2]).toMatch(/^> ann .* asks +0s /);
    await clock.advance(61_000);
    expect((await lines())[2]).toMatch(/^> ann .* asks +1m /);
    resize();
    expect(history).toEqual(["open", "invalidate"]);
    stop.abort();
    await ended;
  });
});

describe("the terminal is given back", () => {
  test("when a signal ends the command, and no timer is left", async () => {
    const { history, stop, ended, clock } = start();
    await clock.advance(500);
    stop.abort();
    await ended;
    expect(history).toEqual(["open", "close"]);
    expect(clock.pending()).toBe(0);
  });

  test("once the person has left the agent, when a signal ends the command meanwhile", async () => {
    const { history, type, commands, stop, ended, clock } = start();
    await clock.advance(0);
    await type("\r");
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    stop.abort();
    await clock.advance(1000);
    expect(isOver).toBe(false);
    commands[0]?.end({ failed: false, text: "" });
    await ended;
    expect(history).toEqual(["open", "close"]);
  });

  test("when its input ends", async () => {
    const { history, endInput, ended, clock } = start();
    await clock.advance(0);
    endInput();
    await ended;
    expect(history).toEqual(["open", "close"]);
  });

  test.each<{ id: string; change: Partial<DashboardDeps>; typed?: string }>([
    { id: "agents cannot be followed", change: { follow: () => Promise.reject(new Error("broken")) } },
    {
      id: "attaching throws",
      change: { attach: () => Promise.reject(new Error("broken")) },
      typed: "\r",
    },
    {
      id: "a listener throws",
      change: {
        run() {
          throw new Error("broken");
        },
      },
      typed: "i",
    },
  ])("before the error is reported when $id", async ({ change, typed }) => {
    const { history, ended, clock, type } = start(change);
    const failure = ended.catch((error) => error.message);
    await clock.advance(0);
    if (typed !== undefined) await type(typed);
    expect(await failure).toBe("broken");
    expect(history.at(-1)).toBe("close");
  });
});
