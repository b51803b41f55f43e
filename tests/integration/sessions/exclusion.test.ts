import { describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManifestStore } from "../../../src/services/sessions/manifest.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createSystem } from "../../../src/system/system.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const support = join(import.meta.dir, "..", "..", "support");
const processes = createProcesses({ steps: quietSteps });
const locks = createLocks({ clock: createClock() });

function folder() {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "svc-locks-")));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A process that holds the lock at `path` until it is ended. */
async function holder(path: string) {
  const child = processes.pipe([process.execPath, join(support, "lock-holder.ts"), "hold", path]);
  for await (const chunk of child.stdout) if (new TextDecoder().decode(chunk).includes("held")) break;
  return child;
}

describe("a lock between processes", () => {
  test("is taken where its file was damaged, and not while somebody has it", async () => {
    using at = folder();
    const path = join(at.path, "lock");
    for (const damaged of ["{", "\xa5".repeat(9000), '{"schema_version": 1,\n']) {
      writeFileSync(path, damaged);
      await locks.hold(path, () => {
        writeFileSync(path, damaged);
        expect(locks.tryTake(path)).toBeNull();
      });
      writeFileSync(path, damaged);
      const taken = locks.tryTake(path);
      expect(taken).not.toBeNull();
      taken?.release();
    }
    const child = await holder(path);
    writeFileSync(path, "\xa5".repeat(9000));
    expect(locks.tryTake(path)).toBeNull();
    processes.signal(child.pid, "SIGKILL");
    await locks.hold(path, () => {});
  });

  test("keeps others out, and ends with its owner on SIGKILL", async () => {
    using at = folder();
    const path = join(at.path, "x.lock");
    const owner = await holder(path);
    expect(await awaitOutcome(locks.hold(path, () => "in", { timeoutMs: 50 }))).toThrow("timed out");
    expect(locks.tryTake(path)).toBeNull();
    owner.kill();
    await owner.exited;
    expect(await locks.hold(path, () => "in")).toBe("in");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("counts right with four processes at once", async () => {
    using at = folder();
    const file = join(at.path, "count");
    writeFileSync(file, "0");
    const command = [
      process.execPath,
      join(support, "lock-holder.ts"),
      "count",
      join(at.path, "x.lock"),
      file,
      "25",
    ];
    await Promise.all([1, 2, 3, 4].map(() => processes.run(command, { timeoutMs: 60_000 })));
    expect(readFileSync(file, "utf8")).toBe("100");
  });

  test("keeps nothing open of a file that was damaged, or of a folder in its place", () => {
    using at = folder();
    const path = join(at.path, "x.lock");
    const open = () => readdirSync("/dev/fd").length;
    const before = open();
    for (let times = 0; times < 20; times++) {
      writeFileSync(path, "nothing that we wrote ".repeat(100));
      locks.tryTake(path)?.release();
      expect(() => locks.tryTake(at.path)).toThrow("is no regular file");
    }
    // What earlier tests opened may be closed meanwhile.
    expect(open()).toBeLessThanOrEqual(before);
  });

  test("lets the next one in after work that throws", async () => {
    using at = folder();
    const path = join(at.path, "x.lock");
    expect(await awaitOutcome(locks.hold(path, () => Promise.reject(new Error("broken"))))).toThrow("broken");
    expect(await locks.hold(path, () => "in")).toBe("in");
  });
});

test("of several processes that publish one agent id at once, exactly one is believed", async () => {
  using at = createRegistryFixture();
  const generations = ["a", "b", "c", "d", "e"];
  const outputs = await Promise.all(
    generations.map((generation) =>
      processes.run([process.execPath, join(support, "record-publisher.ts"), at.root, generation], {
        timeoutMs: 60_000,
      }),
    ),
  );
  const said = outputs.map(({ stdout }) => stdout.trim());
  const published = said.filter((line) => line.startsWith("published"));
  expect(published).toEqual([`published ${at.registry.read("id-worker")?.generation_id}`]);
  expect(said.filter((line) => line === "refused conflict").length).toBe(generations.length - 1);
});

test("changes of one manifest by several writers at once are all kept", async () => {
  using at = folder();
  const system = createSystem();
  const path = join(at.path, "manifest.json");
  const writers = [1, 2, 3].map(() => createManifestStore({ ...system, locks: createLocks(system) }));
  await writers[0]?.write(path, sampleManifest());
  await Promise.all(
    writers.flatMap((store, writer) =>
      [1, 2, 3].map((turn) =>
        store.update(path, (manifest) => ({
          ...manifest,
          backend_state: { ...manifest.backend_state, [`${writer}-${turn}`]: true },
        })),
      ),
    ),
  );
  expect(Object.keys(writers[0]?.read(path).backend_state ?? {}).length).toBe(9);
  expect(await awaitOutcome(writers[0]?.update(join(at.path, "none.json"), (manifest) => manifest))).toThrow(
    "no session manifest",
  );
});
