import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { CurrentInstance } from "../../../src/protocol/files.ts";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import { createLiveFiles } from "../../../src/services/sessions/live-files.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import type { Files } from "../../../src/system/files.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

test("a full disk does not keep a gateway from its end", () => {
  using scratch = createScratch();
  const told: string[] = [];
  const live = createLiveFiles({
    files: scratch.files,
    clock: createFakeClock(),
    manifest: sampleManifest(),
    sessionRoot: scratch.folder,
    place: { gone: () => false, rewrite: (write) => write(), keep: () => {} },
    onError: (error) => told.push((error as Error).message),
  });
  scratch.beforeStep = () => {
    throw new Error("no space left");
  };
  live.retire(1);
  expect(told).toEqual(["no space left"]);
});

test("a status is written after the turn that changed it, and nothing once the place is another's", async () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const told: unknown[] = [];
  let gone = false;
  const live = createLiveFiles({
    files: scratch.files,
    clock,
    manifest: sampleManifest(),
    sessionRoot: scratch.folder,
    place: { gone: () => gone, rewrite: (write) => write(), keep: () => {} },
    onError: (error) => told.push(error),
  });
  const status = (queue_depth: number) => ({ queue_depth }) as GatewayStatus;
  const written = () => scratch.files.read(scratch.path("gateway/state.json"));
  scratch.files.ensureDirectory("x", scratch.path("gateway"));
  live.saveStatus(status(1));
  await settle();
  expect(JSON.parse(written() ?? "")).toEqual({ queue_depth: 1 });
  // This one waits for the 100 ms between two to pass.
  live.saveStatus(status(2));
  scratch.files.write("x", scratch.path("gateway/state.json"), "of another");
  gone = true;
  await clock.advance(1000);
  live.saveStatus(status(3));
  await settle();
  await clock.advance(1000);
  expect([written(), told]).toEqual(["of another", []]);
});

test("the current-instance record has the epoch and instance of the status, and is tried again where it was refused", async () => {
  using scratch = createScratch();
  const told: string[] = [];
  const live = createLiveFiles({
    files: scratch.files,
    clock: createFakeClock(),
    manifest: sampleManifest(),
    sessionRoot: scratch.folder,
    place: { gone: () => false, rewrite: (write) => write(), keep: () => {} },
    onError: (error) => told.push((error as Error).message),
  });
  scratch.files.ensureDirectory("x", scratch.path("gateway/run"));
  const record = () =>
    JSON.parse(
      scratch.files.read(scratch.path("gateway/run/current-instance.json")) ?? "",
    ) as CurrentInstance;
  const status = (managed_agent_instance_epoch: number, managed_agent_instance_id?: string) =>
    ({
      managed_agent_instance_epoch,
      ...(managed_agent_instance_id ? { managed_agent_instance_id } : {}),
    }) as GatewayStatus;
  const first: CurrentInstance = {
    schema_version: 1,
    protocol_version: "v1",
    pid: 42,
    host: "127.0.0.1",
    port: 4000,
    execution_mode: "detached_process",
    managed_agent_instance_epoch: 1,
  };
  live.publish(first);
  // An agent that could not be seen at the start.
  live.saveStatus(status(1, "one"));
  expect(record()).toEqual({ ...first, managed_agent_instance_id: "one" });

  scratch.beforeStep = (label) => {
    if (label === "file:current-instance") throw new Error("no space left");
  };
  live.saveStatus(status(2, "two"));
  expect([record().managed_agent_instance_epoch, told]).toEqual([1, ["no space left"]]);
  scratch.beforeStep = () => {};
  live.saveStatus(status(2, "two"));
  expect(record()).toEqual({
    ...first,
    managed_agent_instance_epoch: 2,
    managed_agent_instance_id: "two",
  });
  const writes = () => scratch.labels.filter((label) => label === "file:current-instance").length;
  const before = writes();
  live.saveStatus(status(2, "two"));
  expect(writes()).toBe(before);
});

test("a last status that cannot be read keeps no gateway from its end", () => {
  using scratch = createScratch();
  const faults: unknown[] = [];
  const state = sessionPaths(scratch.folder).state;
  const files: Files = {
    ...scratch.files,
    read(path, options) {
      if (path === state) throw Object.assign(new Error("input/output error"), { code: "EIO" });
      return scratch.files.read(path, options);
    },
  };
  mkdirSync(dirname(state), { recursive: true });
  const live = createLiveFiles({
    files,
    clock: createFakeClock(),
    manifest: sampleManifest(),
    sessionRoot: scratch.folder,
    place: { gone: () => false, rewrite: (write) => write(), keep: () => {} },
    onError: (error) => faults.push(error),
  });
  live.retire(3);
  expect(faults).toEqual([]);
  expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({ managed_agent_instance_epoch: 3 });
});
