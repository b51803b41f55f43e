import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDirectory, openedAgent } from "../../../src/services/fleet/directory.ts";
import { buildRecord, toStopped } from "../../../src/services/sessions/record.ts";
import type { Files } from "../../../src/system/files.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";
import { sampleManifest } from "../../support/session-samples.ts";

function setup() {
  const fixture = createRegistryFixture();
  const { system, registry, root } = fixture;
  const clock = createFakeClock();
  const reads: string[] = [];
  const counted = {
    read: (agentId: string) => {
      reads.push(agentId);
      return registry.read(agentId);
    },
  };
  const unreadable = new Set<string>();
  const files: Files = {
    ...system.files,
    read(path, policy) {
      if (unreadable.has(path)) throw Object.assign(new Error("no permission"), { code: "EACCES" });
      return system.files.read(path, policy);
    },
  };
  const directory = createDirectory({ files, clock, registry: counted, registryRoot: root });
  return {
    fixture,
    registry,
    clock,
    reads,
    unreadable,
    directory,
    /** An agent with its manifest and record. */
    async add(name: string, agentId = `id-${name}`) {
      const sessionRoot = join(fixture.folder, agentId);
      mkdirSync(sessionRoot, { recursive: true });
      const manifest = sampleManifest({ agentName: name, agentId, sessionId: `session-${agentId}` });
      const manifestPath = join(sessionRoot, "manifest.json");
      writeFileSync(manifestPath, JSON.stringify(manifest));
      const record = buildRecord({ manifest, manifestPath, sessionRoot, nowMs: 1_000_000_000_000 });
      await registry.publish(record);
      return { record, manifestPath };
    },
    names: () => directory.agents().map(({ identity }) => identity.agent_name),
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}

describe("the directory over the registry", () => {
  test("reports agents sorted by id, and nothing where there is no registry", async () => {
    using at = setup();
    expect(at.names()).toEqual([]);
    await at.add("zoe", "id-1");
    await at.add("amy", "id-2");
    at.directory.refresh();
    expect(at.names()).toEqual(["zoe", "amy"]);
  });

  test("is at most 100 ms behind, and a miss looks at once", async () => {
    using at = setup();
    expect(at.names()).toEqual([]);
    await at.add("late");
    expect(at.names()).toEqual([]);
    expect(at.directory.resolve("late").identity.agent_name).toBe("late");
    await at.add("later");
    await at.clock.advance(101);
    expect(at.names()).toEqual(["late", "later"]);
  });

  test("reads a record again only when its file or its manifest is another", async () => {
    using at = setup();
    const { record, manifestPath } = await at.add("one");
    await at.add("two");
    at.names();
    at.reads.length = 0;
    at.directory.refresh();
    at.names();
    expect(at.reads).toEqual([]);
    await at.registry.markStopped(record.agent_id, record.generation_id, "operator_stop");
    at.directory.refresh();
    expect(at.directory.resolve("one").identity.lifecycle_state).toBe("stopped");
    expect(at.reads).toEqual([record.agent_id]);
    utimesSync(manifestPath, 5, 5);
    at.directory.refresh();
    at.names();
    expect(at.reads).toEqual([record.agent_id, record.agent_id]);
  });

  test("forgets an agent whose record is gone, under every alias", async () => {
    using at = setup();
    const { record } = await at.add("one");
    expect(at.directory.resolve("session-id-one").record.agent_id).toBe(record.agent_id);
    await at.registry.remove(record.agent_id, record.generation_id);
    at.directory.refresh();
    expect(() => at.directory.resolve("session-id-one")).toThrow('no agent is known as "session-id-one"');
    expect(() => at.directory.resolve(" ")).toThrow('no agent is known as ""');
  });

  test("an agent whose manifest is lost is reported from its record and cannot be worked with", async () => {
    using at = setup();
    const { manifestPath } = await at.add("one");
    rmSync(manifestPath);
    const agent = at.directory.resolve("one");
    expect(agent.identity).toMatchObject({ agent_id: "id-one", terminal_id: null, tool: "demo" });
    expect(() => openedAgent(agent)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^"one" cannot be opened: /),
        data: { remedy: { code: "stop_agent", agent_id: "id-one" } },
      }),
    );
  });

  test.each([
    { state: "refused", text: "{", remedy: { code: "stop_agent", agent_id: "id-one" } },
    { state: "unreadable", text: null, remedy: { code: "run_doctor" } },
  ])("an agent whose manifest is $state has the remedy $remedy.code", async ({ state, text, remedy }) => {
    using at = setup();
    const { manifestPath } = await at.add("one");
    if (text === null) at.unreadable.add(manifestPath);
    else writeFileSync(manifestPath, text);
    const agent = at.directory.resolve("one");
    expect(agent.problem).toMatchObject({ state });
    expect(() => openedAgent(agent)).toThrow(expect.objectContaining({ data: { remedy } }));
  });

  test("a manifest that can be read again is read, although the file is the same", async () => {
    using at = setup();
    const { manifestPath } = await at.add("one");
    at.unreadable.add(manifestPath);
    expect(at.directory.resolve("one").found).toBeNull();
    at.unreadable.clear();
    at.directory.refresh();
    expect(at.directory.resolve("one").problem).toBeNull();
  });

  test("what is no record hides no other, and stays as it is", async () => {
    using at = setup();
    await at.add("one");
    const live = join(at.fixture.root, "live_agents");
    mkdirSync(join(live, "broken"));
    writeFileSync(join(live, "broken/record.json"), "{");
    mkdirSync(join(live, "not an id"));
    writeFileSync(join(live, "not an id/record.json"), "{}");
    at.directory.refresh();
    expect(at.names()).toEqual(["one"]);
    expect(at.fixture.system.files.read(join(live, "broken/record.json"))).toBe("{");
  });

  test("of two generations of one agent the published one is reported", async () => {
    using at = setup();
    const { record } = await at.add("one");
    await at.registry.publish(toStopped(record, "operator_stop", 1_000_000_000_001));
    await at.registry.publish({ ...record, generation_id: "generation-2" });
    expect(at.directory.resolve("one").record.generation_id).toBe("generation-2");
  });
});
