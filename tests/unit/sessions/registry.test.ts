import { describe, expect, test } from "bun:test";
import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toStopped } from "../../../src/services/sessions/record.ts";
import { createRegistry } from "../../../src/services/sessions/registry.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";
import { sampleRecord } from "../../support/session-samples.ts";

const first = sampleRecord();
const second = sampleRecord({ generationId: "generation-2" });

function withSession(name: string, generationId: string) {
  const tmux = { sessionName: name, windowName: "agent", windowId: "@0", paneId: "%0", socket: null };
  return sampleRecord({ generationId, tmux });
}

describe("publishing", () => {
  test("makes an agent findable, in private files", async () => {
    using at = createRegistryFixture();
    expect(await at.registry.publish(first)).toEqual(first);
    expect(at.registry.read("id-worker")).toEqual(first);
    expect(at.registry.list()).toEqual({ records: [first], ignored: [] });
    const folder = join(at.root, "live_agents", "id-worker");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "record.json")).mode & 0o777).toBe(0o600);
  });

  test("is refused while another generation of the id lives in tmux", async () => {
    using at = createRegistryFixture();
    at.living.add("SVC-worker-1");
    await at.registry.publish(first);
    await expect(at.registry.publish(second)).rejects.toMatchObject({
      reason: "conflict",
      message: expect.stringContaining("tmux attach -t '=SVC-worker-1'"),
      data: { agent_ids: ["id-worker"], remedy: { code: "end_agent", agent_name: "worker" } },
    });
    expect(at.registry.read("id-worker")).toEqual(first);
  });

  test.each([
    { id: "a name", clash: { agentName: "Worker", agentId: "id-other" } },
    { id: "an id", clash: { agentName: "other", agentId: "ID-worker" } },
  ])("is refused to $id that another has in other letters, stopped or not", async ({ clash }) => {
    using at = createRegistryFixture();
    await at.registry.publish(first);
    await at.registry.markStopped("id-worker", "generation-1", "operator_stop");
    await expect(at.registry.publish(sampleRecord(clash))).rejects.toMatchObject({
      reason: "conflict",
      message: expect.stringMatching(/differs from .*"worker" .*only in capital letters.*Choose another/),
      data: { agent_ids: ["id-worker"], remedy: { code: "cleanup_agent", agent_id: "id-worker" } },
    });
    expect(at.registry.list().records.map((record) => record.agent_id)).toEqual(["id-worker"]);
  });

  test("is not refused to one of two that an earlier version let in", async () => {
    using at = createRegistryFixture();
    const clash = sampleRecord({ agentName: "Worker", agentId: "id-other" });
    for (const record of [first, clash]) {
      const folder = join(at.root, "live_agents", record.agent_id);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "record.json"), JSON.stringify(record));
    }
    expect(at.registry.list().records).toHaveLength(2);
    await at.registry.publish({ ...clash, generation_id: "generation-2" });
    expect(at.registry.read("id-other")?.generation_id).toBe("generation-2");
  });

  test("lets only one of two in whose names differ in letters, however close together", async () => {
    using at = createRegistryFixture();
    const clash = sampleRecord({ agentName: "Worker", agentId: "id-other" });
    const outcomes = await Promise.allSettled([at.registry.publish(first), at.registry.publish(clash)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(at.registry.list().records).toHaveLength(1);
  });

  test("replaces a generation whose session is gone, and its own", async () => {
    using at = createRegistryFixture();
    at.living.add("SVC-worker-1");
    await at.registry.publish(first);
    await at.registry.publish({ ...first, agent_name: "renamed" });
    expect(at.registry.read("id-worker")?.agent_name).toBe("renamed");
    at.living.clear();
    await at.registry.publish(second);
    expect(at.registry.read("id-worker")?.generation_id).toBe("generation-2");
  });

  test("never writes through a link in its place", async () => {
    using at = createRegistryFixture();
    const outside = join(at.folder, "outside");
    mkdirSync(outside);
    mkdirSync(join(at.root, "live_agents"), { recursive: true });
    symlinkSync(outside, join(at.root, "live_agents", "id-worker"));
    await at.registry.publish(first);
    expect(at.system.files.list(outside)).toEqual([]);
    expect(at.registry.read("id-worker")).toEqual(first);
  });
});

describe("a change touches only the generation it was for", () => {
  test("marking stopped", async () => {
    using at = createRegistryFixture();
    await at.registry.publish(second);
    expect(await at.registry.markStopped("id-worker", "generation-1", "operator_stop")).toBe(false);
    expect(at.registry.read("id-worker")?.lifecycle.state).toBe("active");
    expect(await at.registry.markStopped("id-worker", "generation-2", "operator_stop")).toBe(true);
    expect(at.registry.read("id-worker")?.lifecycle).toMatchObject({
      state: "stopped",
      stop_reason: "operator_stop",
    });
  });

  test("marking stopped twice keeps the first time and reason", async () => {
    using at = createRegistryFixture();
    await at.registry.publish(first);
    await at.registry.markStopped("id-worker", "generation-1", "operator_stop");
    const before = at.registry.read("id-worker");
    await at.registry.markStopped("id-worker", "generation-1", "session_gone");
    expect(at.registry.read("id-worker")).toEqual(before);
  });

  test("marking one that went as stopped by a person keeps the time", async () => {
    using at = createRegistryFixture();
    await at.registry.publish(first);
    await at.registry.markStopped("id-worker", "generation-1", "session_gone");
    const before = at.registry.read("id-worker")?.lifecycle;
    expect(await at.registry.markStopped("id-worker", "generation-1", "operator_stop")).toBe(true);
    expect(at.registry.read("id-worker")?.lifecycle).toEqual({
      ...before,
      stop_reason: "operator_stop",
    } as never);
  });

  test("the gateway's place, set and cleared", async () => {
    using at = createRegistryFixture();
    const gateway = { host: "127.0.0.1", port: 4711, state_path: "/s/state.json", protocol_version: "v1" };
    await at.registry.publish(first);
    expect(await at.registry.setGateway("id-worker", "generation-2", gateway)).toBe(false);
    expect(await at.registry.setGateway("id-worker", "generation-1", gateway)).toBe(true);
    expect(at.registry.read("id-worker")?.gateway).toEqual(gateway);
    expect(await at.registry.setGateway("id-worker", "generation-1", null)).toBe(true);
    expect(at.registry.read("id-worker")).toEqual(first);
  });

  test("a stopped agent gets no gateway", async () => {
    using at = createRegistryFixture();
    const gateway = { host: "127.0.0.1", port: 4711, state_path: "/s/state.json", protocol_version: "v1" };
    await at.registry.publish(first);
    await at.registry.markStopped("id-worker", "generation-1", "operator_stop");
    expect(await at.registry.setGateway("id-worker", "generation-1", gateway)).toBe(false);
  });

  test("removing", async () => {
    using at = createRegistryFixture();
    await at.registry.publish(first);
    expect(await at.registry.remove("id-worker", "generation-2")).toBe(false);
    expect(await at.registry.remove("id-worker", "generation-1")).toBe(true);
    expect(at.registry.list()).toEqual({ records: [], ignored: [] });
    expect(await at.registry.remove("id-worker", "generation-1")).toBe(false);
  });
});

describe("what is not a record", () => {
  function plant(at: { root: string; folder: string }) {
    const agents = join(at.root, "live_agents");
    for (const name of ["broken", "empty", "linked", "bad name"])
      mkdirSync(join(agents, name), { recursive: true });
    writeFileSync(join(agents, "broken", "record.json"), "{");
    writeFileSync(join(at.folder, "elsewhere.json"), JSON.stringify(sampleRecord({ agentId: "linked" })));
    symlinkSync(join(at.folder, "elsewhere.json"), join(agents, "linked", "record.json"));
    mkdirSync(join(at.folder, "tree"));
    writeFileSync(join(at.folder, "tree", "record.json"), JSON.stringify(sampleRecord({ agentId: "tree" })));
    symlinkSync(join(at.folder, "tree"), join(agents, "tree"));
    return agents;
  }

  test("is reported and never believed", () => {
    using at = createRegistryFixture();
    const agents = plant(at);
    expect(at.registry.list()).toEqual({
      records: [],
      ignored: [
        { path: join(agents, "bad name"), problem: "is not the folder of an agent id" },
        { path: join(agents, "broken", "record.json"), problem: "not valid JSON" },
        { path: join(agents, "empty", "record.json"), problem: "is missing" },
        { path: join(agents, "linked", "record.json"), problem: "is a symbolic link" },
        { path: join(agents, "tree"), problem: "is a symbolic link" },
      ],
    });
    expect(at.registry.read("linked")).toBeNull();
  });

  test("is removed by cleaning up, links only as links, foreign names not at all", async () => {
    using at = createRegistryFixture();
    const agents = plant(at);
    expect((await at.registry.cleanUp()).length).toBe(4);
    expect(at.system.files.list(agents)).toEqual(["bad name"]);
    expect(at.system.files.list(join(at.folder, "tree"))).toEqual(["record.json"]);
    expect(at.system.files.exists(join(at.folder, "elsewhere.json"))).toBe(true);
  });
});

describe("cleaning up records", () => {
  test("marks an agent whose session is gone as stopped and leaves the others", async () => {
    using at = createRegistryFixture();
    at.living.add("alive");
    const alive = { ...withSession("alive", "a"), agent_id: "alive" };
    const gone = { ...withSession("gone", "b"), agent_id: "gone" };
    const retired = { ...toStopped({ ...first, agent_id: "old" }, "operator_stop", 0) };
    for (const record of [alive, gone]) await at.registry.publish(record);
    at.living.add("SVC-worker-1");
    await at.registry.publish(retired);

    const cleaned = await at.registry.cleanUp();
    expect(cleaned.map((one) => one.problem)).toEqual(["tmux session gone is gone"]);
    expect(at.registry.read("alive")).toEqual(alive);
    expect(at.registry.read("old")).toEqual(retired);
    expect(at.registry.read("gone")?.lifecycle).toMatchObject({
      state: "stopped",
      stop_reason: "session_gone",
    });
    expect(await at.registry.cleanUp()).toEqual([]);
  });
});

test("a record that is a folder is passed over, reported, and cleaned up", async () => {
  using at = createRegistryFixture();
  at.living.add("SVC-worker-1");
  await at.registry.publish(first);
  const record = join(at.root, "live_agents", "id-broken", "record.json");
  mkdirSync(record, { recursive: true });
  writeFileSync(join(at.root, "live_agents", "id-file"), "no folder");
  expect(at.registry.list()).toEqual({
    records: [first],
    ignored: [
      { path: record, problem: "is no file" },
      { path: join(at.root, "live_agents", "id-file", "record.json"), problem: "is missing" },
    ],
  });
  expect(at.registry.read("id-broken")).toBeNull();
  expect(await at.registry.cleanUp()).toHaveLength(2);
  expect(at.registry.list()).toEqual({ records: [first], ignored: [] });
});

test("a record that cannot be read now is passed over, reported, and never cleaned up", async () => {
  using at = createRegistryFixture();
  await at.registry.publish(first);
  const { files } = at.system;
  const refused = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
  const registry = createRegistry({
    ...at,
    ...at.system,
    sessionAlive: async () => true,
    files: {
      ...files,
      read() {
        throw refused;
      },
    },
  });
  const path = join(at.root, "live_agents", "id-worker", "record.json");
  const told = [{ path, problem: "cannot be read: EACCES: permission denied" }];
  expect(registry.list()).toEqual({ records: [], ignored: told });
  expect(await registry.cleanUp()).toEqual([]);
  expect(at.registry.read("id-worker")).toEqual(first);
});
