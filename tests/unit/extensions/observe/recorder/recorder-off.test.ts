import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import type { RecordedAgent } from "../../../../../src/services/extensions/observe/recorder/open-recorder.ts";
import { createRecorderControl } from "../../../../../src/services/extensions/observe/recorder/recorder-control.ts";
import { readTree } from "../../../../guards/tree.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";
import { createTestSignal } from "../../../../support/until.ts";

/** An agent that counts who listens to it. */
function listened(scratch: Scratch) {
  const { values: heard, emit, until } = createTestSignal<string>();
  const hear = (what: string) => () => {
    emit(what);
    return () => emit(`no ${what}`);
  };
  mkdirSync(scratch.path("gateway"), { mode: 0o700 });
  const agent: RecordedAgent = {
    files: scratch.files,
    clock: createFakeClock(),
    log: { line: () => {} },
    sessionRoot: scratch.folder,
    agentName: "worker",
    tracked: true,
    terminal: null,
    events: { subscribe: hear("events") },
    slot: { onDecision: hear("decisions") },
    queue: { depth: () => 0, list: () => [] },
  };
  return { agent, heard, until };
}

describe("a recorder that is off", () => {
  test("listens to nothing and writes nothing, until it is switched on, and after it was switched off", async () => {
    using scratch = createScratch();
    const { agent, heard } = listened(scratch);
    const control = createRecorderControl(agent);
    await control.start();
    expect([heard, readdirSync(scratch.path("gateway"))]).toEqual([[], []]);
    expect(control.status()).toMatchObject({ enabled: false, recording: false });
    await expect(control.moment({ at: "2026-01-01T00:00:00Z" })).rejects.toThrow("nothing is recorded");
    await expect(control.cast({ from: "when" })).rejects.toThrow("is no RFC 3339 time");

    const on = await control.update({ enabled: true, max_bytes: 2 ** 21 });
    expect(on).toMatchObject({ enabled: true, recording: true, max_bytes: 2 ** 21 });
    expect(heard).toEqual(["events", "decisions"]);
    const off = await control.update({ enabled: false });
    expect(off).toMatchObject({ enabled: false, recording: false, max_bytes: 2 ** 21 });
    expect(heard).toEqual(["events", "decisions", "no events", "no decisions"]);
  });

  test("begins with the gateway when it is on, and ends with it", async () => {
    using scratch = createScratch();
    const { agent, heard, until } = listened(scratch);
    await createRecorderControl(agent).update({ enabled: true });
    const next = createRecorderControl(agent);
    await next.start();
    await until("it is heard of", () => heard.length === 4);
    await next.stop();
    expect(next.status()).toMatchObject({ enabled: true, recording: false });
  });

  test("is not loaded: a gateway imports its switch alone", () => {
    const files = new Map(readTree("src").map((file) => [file.path, file]));
    const loaded = new Set([
      "src/cli/gateway/gateway-services.ts",
      "src/cli/extensions/observe/observe-gateway.ts",
    ]);
    const transpiler = new Bun.Transpiler({ loader: "ts" });
    for (const path of loaded) {
      const file = files.get(path);
      if (file === undefined) continue;
      const statics = transpiler
        .scanImports(file.source)
        .filter(({ kind }) => kind === "import-statement")
        .map((one) => one.path);
      for (const { specifier, resolved } of file.imports) {
        if (resolved !== null && statics.includes(specifier)) loaded.add(resolved);
      }
    }
    expect(loaded.size).toBeGreaterThan(100);
    expect(
      [...loaded].filter((path) => path.startsWith("src/services/extensions/observe/recorder/")).sort(),
    ).toEqual([
      "src/services/extensions/observe/recorder/recorder-control.ts",
      "src/services/extensions/observe/recorder/segments.ts",
    ]);
  });
});
