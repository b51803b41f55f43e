import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLinks } from "../../../src/services/fleet/links.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";
import { until } from "../../support/until.ts";

const standIn = join(import.meta.dir, "../../support/stand-in-gateway.ts");

function setup() {
  const scratch = createScratch();
  const system = createSystem();
  const children: Bun.Subprocess[] = [];
  const steady = createFakeClock();
  // Time for the quiet span stands still; calls are timed by the machine's clock.
  const clock = { ...system.clock, monotonicMs: () => steady.monotonicMs() };
  const links = createLinks({ files: system.files, processes: system.processes, clock, env: {} });
  return {
    links,
    steady,
    session(name: string) {
      const sessionRoot = scratch.path(name);
      mkdirSync(join(sessionRoot, "gateway/run"), { recursive: true });
      const manifest = sampleManifest({ agentName: name, sessionId: `session-${name}` });
      writeFileSync(join(sessionRoot, "manifest.json"), JSON.stringify(manifest));
      return { manifest, sessionRoot };
    },
    async start(sessionRoot: string, mode = "") {
      const child = Bun.spawn([process.execPath, standIn, "--session-root", sessionRoot], {
        env: { PATH: process.env["PATH"] ?? "", STAND_IN_MODE: mode },
        stdin: "ignore",
        stderr: "inherit",
      });
      children.push(child);
      const record = join(sessionRoot, "gateway/run/current-instance.json");
      await until("the gateway to say where it is", () => {
        try {
          return JSON.parse(readFileSync(record, "utf8")).pid === child.pid;
        } catch {
          return false;
        }
      });
      return child;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map((child) => child.exited));
      scratch[Symbol.dispose]();
    },
  };
}

describe("links to gateways", () => {
  test("a gateway is found by its record, kept while it is the same, and found again after its restart", async () => {
    await using at = setup();
    const session = at.session("one");
    expect(await at.links.to(session)).toMatchObject({ state: "none" });
    expect(at.links.claims(session)).toBe(false);
    const first = await at.start(session.sessionRoot);
    const link = await at.links.to(session);
    expect(link).toMatchObject({ state: "live", instance: { pid: first.pid } });
    expect(await at.links.to(session)).toBe(link);
    expect(at.links.claims(session)).toBe(true);
    first.kill("SIGKILL");
    await first.exited;
    expect(at.links.claims(session)).toBe(false);
    expect(await at.links.to(session)).toMatchObject({ state: "dead" });
    const second = await at.start(session.sessionRoot);
    expect(await at.links.to(session)).toMatchObject({ state: "live", instance: { pid: second.pid } });
  });

  test("a port that passed to another agent's gateway is not believed", async () => {
    await using at = setup();
    const session = at.session("one");
    await at.start(session.sessionRoot, "other");
    expect(await at.links.to(session)).toMatchObject({
      state: "silent",
      why: expect.stringContaining("another-session"),
    });
  });

  test("one that lives and is silent claims its agent, and is not asked again at once", async () => {
    await using at = setup();
    const session = at.session("one");
    await at.start(session.sessionRoot, "deaf");
    const link = await at.links.to(session);
    expect(link).toMatchObject({ state: "silent" });
    expect(await at.links.to(session)).toBe(link);
    await at.steady.advance(1000);
    expect(await at.links.to(session)).not.toBe(link);
  });

  test("callers at once share one question", async () => {
    await using at = setup();
    const session = at.session("one");
    await at.start(session.sessionRoot);
    const [left, right] = await Promise.all([at.links.to(session), at.links.to(session)]);
    expect(left).toBe(right);
    at.links.doubt(session);
    expect(await at.links.to(session)).not.toBe(left);
  });
});
