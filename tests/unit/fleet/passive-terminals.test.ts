import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { createPassiveTerminals } from "../../../src/services/fleet/passive-terminals.ts";
import { createSystem, type System } from "../../../src/system/system.ts";
import { createFakeAgent, type FakeAgent } from "../../support/fake-agent.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

function setup(options: { max?: number; locked?: boolean; system?: Pick<System, "files" | "locks"> } = {}) {
  const clock = createFakeClock();
  const opened: string[] = [];
  const stopped: string[] = [];
  const released: string[] = [];
  const agents = new Map<string, FakeAgent>();
  const terminals = createPassiveTerminals({
    clock,
    idleMs: 1000,
    max: options.max ?? 2,
    files: options.system?.files ?? { ensureDirectory: () => {} },
    locks: options.system?.locks ?? {
      tryTake: (path) => (options.locked ? null : { release: () => void released.push(path) }),
    },
    open({ sessionRoot }) {
      opened.push(sessionRoot);
      const agent = createFakeAgent();
      giveTerminal(agent);
      agents.set(sessionRoot, agent);
      return {
        state: () => agent.terminal.state(),
        drive: () => agent,
        start: () => {},
        firstLook: async () => {},
        stop: async () => void stopped.push(sessionRoot),
      };
    },
  });
  const session = (sessionRoot: string, generationId = "one") => ({
    manifest: sampleManifest({ generationId }),
    sessionRoot,
  });
  return { clock, opened, stopped, released, agents, terminals, session };
}

describe("terminals that we watch ourselves", () => {
  test("one connection serves all looks, and ends when nobody looked for its time", async () => {
    const { clock, opened, stopped, terminals, session } = setup();
    expect(await terminals.state(session("/a"))).toMatchObject({ terminal_id: expect.any(String) });
    await clock.advance(900);
    await terminals.state(session("/a"));
    await clock.advance(999);
    expect([opened, stopped]).toEqual([["/a"], []]);
    await clock.advance(1);
    expect(stopped).toEqual(["/a"]);
    await terminals.state(session("/a"));
    expect(opened).toEqual(["/a", "/a"]);
  });

  test("the one that was not looked at for the longest time makes room", async () => {
    const { opened, stopped, terminals, session } = setup();
    for (const path of ["/a", "/b", "/a", "/c"]) await terminals.state(session(path));
    expect([opened, stopped]).toEqual([["/a", "/b", "/c"], ["/b"]]);
  });

  test("one that is in use is not taken away: there is no room", async () => {
    const { stopped, terminals, session } = setup({ max: 1 });
    const held = Promise.withResolvers<void>();
    const driving = terminals.drive(session("/a"), () => held.promise);
    expect(await terminals.state(session("/b"))).toBeNull();
    await expect(terminals.drive(session("/b"), async () => 1)).rejects.toThrow("too many terminals");
    held.resolve();
    await driving;
    expect(await terminals.state(session("/b"))).not.toBeNull();
    expect(stopped).toEqual(["/a"]);
  });

  test("a relaunched agent is watched again", async () => {
    const { opened, terminals, session } = setup();
    await terminals.state(session("/a", "one"));
    await terminals.state(session("/a", "two"));
    expect(opened).toEqual(["/a", "/a"]);
  });

  test("an agent is driven under its gateway's lock, which is given back also after a failure", async () => {
    const { released, agents, terminals, session } = setup();
    expect(await terminals.drive(session("/a"), async (agent) => agent.connectivity().connected)).toBe(true);
    await expect(
      terminals.drive(session("/a"), async () => {
        throw new Error("lost");
      }),
    ).rejects.toMatchObject({ reason: "unavailable" });
    expect(released).toEqual(["/a/gateway/run/gateway.lock", "/a/gateway/run/gateway.lock"]);
    expect(agents.get("/a")?.prompts).toEqual([]);
  });

  test("nothing is driven while a gateway holds the lock", async () => {
    const { opened, terminals, session } = setup({ locked: true });
    await expect(terminals.drive(session("/a"), async () => 1)).rejects.toMatchObject({
      reason: "unavailable",
      message: expect.stringContaining("a gateway serves it"),
    });
    expect(opened).toEqual([]);
  });

  test("a session whose gateway folder was removed is driven", async () => {
    using at = createScratch();
    const { terminals, session } = setup({ system: createSystem() });
    mkdirSync(at.path("session"));
    expect(await terminals.drive(session(at.path("session")), async () => "done")).toBe("done");
    await terminals.stop();
  });

  test("stop ends them all", async () => {
    const { stopped, terminals, session } = setup();
    await terminals.state(session("/a"));
    await terminals.state(session("/b"));
    await terminals.stop();
    expect(stopped.sort()).toEqual(["/a", "/b"]);
  });
});
