import { describe, expect, test } from "bun:test";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { toConnectivity } from "../../../src/services/fleet/fleet-reader.ts";
import { createLiveness } from "../../../src/services/fleet/liveness.ts";
import type { TmuxSession } from "../../../src/services/terminal/tmux/command.ts";
import { timestampNow } from "../../../src/system/clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { sampleRecord } from "../../support/session-samples.ts";

function bundle(answer: () => Promise<string[]>) {
  const clock = createFakeClock();
  const asked: (string | undefined)[] = [];
  const liveness = createLiveness({
    clock,
    tmuxFor: (socket) => ({
      async sessions() {
        asked.push(socket);
        return (await answer()).map((name): TmuxSession => ({ name, sessionId: "$1", sessionCreated: 1 }));
      },
    }),
  });
  return { clock, asked, liveness };
}

const on = (name: string, socket: string | null = null) =>
  sampleRecord({ tmux: { sessionName: name, windowName: "agent", windowId: "@0", paneId: "%0", socket } });

describe("whether agents live", () => {
  test.each([
    { id: "a session that is there: alive", answer: async () => ["a", "b"], want: "alive" },
    { id: "a session that is not there beside others: gone", answer: async () => ["b"], want: "gone" },
    { id: "no server, since its last session has ended: gone", answer: async () => [], want: "gone" },
    {
      id: "a server that cannot be asked: unknown",
      answer: () => Promise.reject(new Error("refused")),
      want: "unknown",
    },
  ])("$id", async ({ answer, want }) => {
    expect(await bundle(answer).liveness.of(on("a"))).toBe(want as never);
  });

  test("a server that does not answer within a second says nothing", async () => {
    const { clock, liveness } = bundle(() => new Promise(() => {}));
    const asked = liveness.of(on("a"));
    await clock.advance(1000);
    expect(await asked).toBe("unknown");
  });

  test("a stopped agent is gone without a question", async () => {
    const { asked, liveness } = bundle(async () => []);
    const { current_session_name: _gone, ...terminal } = on("a").terminal;
    expect(await liveness.of({ ...on("a"), terminal })).toBe("gone");
    expect(asked).toEqual([]);
  });

  test("an agent that was launched after the last question is not gone: its server is asked again", async () => {
    const names = ["a"];
    const { asked, clock, liveness } = bundle(async () => [...names]);
    const launched = () => {
      const record = on("b");
      return { ...record, lifecycle: { ...record.lifecycle, state_updated_at: timestampNow(clock) } };
    };
    await liveness.of(on("a"));
    await clock.advance(10);
    names.push("b");
    const record = launched();
    expect(await liveness.of(record)).toBe("alive");
    expect(await liveness.of({ ...record, terminal: on("c").terminal })).toBe("gone");
    expect(asked).toHaveLength(2);
  });

  test("each server is asked once for all its agents, and again after half a second", async () => {
    const { asked, clock, liveness } = bundle(async () => ["a"]);
    await Promise.all([on("a"), on("b"), on("c"), on("a", "/other")].map(liveness.of));
    expect(asked).toEqual([undefined, "/other"]);
    await clock.advance(499);
    await liveness.of(on("a"));
    expect(asked).toHaveLength(2);
    await clock.advance(1);
    await liveness.of(on("a"));
    expect(asked).toEqual([undefined, "/other", undefined]);
  });
});

describe("whether the program of an agent is there", () => {
  const status = (connected: boolean) =>
    ({ managed_agent_connectivity: connected ? "connected" : "unavailable" }) as GatewayStatus;
  const terminal = {} as TerminalState;
  const nothing = { alive: "alive", terminal: null, status: null, headless: false } as const;
  test.each([
    { id: "without its session: no", given: { alive: "gone", terminal }, want: false },
    { id: "nobody knows of its session: no", given: { alive: "unknown", headless: true }, want: false },
    {
      id: "tmux does not answer and its gateway does: as the gateway says",
      given: { alive: "unknown", status: status(true) },
      want: true,
    },
    { id: "a terminal that is seen: yes", given: { terminal, status: status(false) }, want: true },
    { id: "headless, between two turns: yes", given: { headless: true }, want: true },
    { id: "as its gateway says: yes", given: { status: status(true) }, want: true },
    { id: "as its gateway says: no", given: { status: status(false) }, want: false },
    { id: "without a gateway: its processes tell", given: {}, want: null },
  ] as const)("$id", ({ given, want }) => {
    expect(toConnectivity({ ...nothing, ...given })).toBe(want);
  });
});
