import { describe, expect } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readCast, readMoment, renderCast } from "../../src/services/extensions/observe/recorder/reader.ts";
import { createRecorder } from "../../src/services/extensions/observe/recorder/recorder.ts";
import { createClock } from "../../src/system/clock.ts";
import { createFiles } from "../../src/system/files.ts";
import { createIds } from "../../src/system/ids.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { countLabels, faultEnvironment, type Moment } from "../support/fault-steps.ts";
import { faultTest } from "../support/fault-table.ts";
import { createScratch } from "../support/scratch.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { until } from "../support/until.ts";

const events = 2;
const agentName = "worker";
const script = join(import.meta.dir, "..", "support", "recorder-process.ts");

async function record(gatewayRoot: string, env: Record<string, string>): Promise<string> {
  const child = Bun.spawn([process.execPath, script, gatewayRoot, String(events)], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect(errors).toBe("");
  return output.trim();
}

/** Events in whole lines of the records; null without any part. */
function recordsIn(gatewayRoot: string): number | null {
  const folder = join(gatewayRoot, "recordings");
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".jsonl")) : [];
  if (names.length === 0) return null;
  const text = names.map((name) => readFileSync(join(folder, name), "utf8")).join("");
  return text.split("\n").filter((line) => line.startsWith('{"k":"event"') && line.endsWith("}")).length;
}

describe("a recorder", () => {
  faultTest(
    "is killed before and after each of its writes",
    {
      area: "processes",
      fault: "A gateway is killed at any write of its flight recorder",
      outcome:
        "what was recorded before can be read; a torn line is passed over; the next gateway goes on in another part",
      seen: "`svc why --at` names the gap",
      recovery: "by itself",
    },
    async () => {
      using scratch = createScratch();
      const rootOf = (name: string) => {
        const root = scratch.path(name);
        mkdirSync(root, { mode: 0o700 });
        return root;
      };
      const trace = scratch.path("trace");
      expect(await record(rootOf("whole"), { [faultEnvironment.trace]: trace })).toBe("done");
      const labels = countLabels(await Bun.file(trace).text());
      expect([...labels.keys()].sort()).toEqual(["file:recording", "file:recording-folder"]);
      const moments: Moment[] = [...labels].flatMap(([label, count]) =>
        Array.from({ length: count }, (_, nth) => nth + 1).flatMap((nth) =>
          (["before", "after"] as const).map((when) => ({ label, when, nth })),
        ),
      );
      expect(moments.length).toBeGreaterThan(12);
      const { files } = scratch;
      for (const [index, moment] of moments.entries()) {
        const gatewayRoot = rootOf(`killed-${index}`);
        await record(gatewayRoot, { [faultEnvironment.kill]: JSON.stringify(moment) });
        const killedMs = Date.now();
        const written = recordsIn(gatewayRoot);
        if (written !== null) {
          const then = readMoment(files, gatewayRoot, { atMs: killedMs, nowMs: killedMs, agentName });
          expect([moment, then.queue.queue_depth]).toEqual([moment, written]);
        }
        expect(await record(gatewayRoot, {}), JSON.stringify(moment)).toBe("done");
        const now = readMoment(files, gatewayRoot, { atMs: Date.now(), nowMs: Date.now(), agentName });
        expect([moment, now.queue.queue_depth]).toEqual([moment, events]);
        const cast = readCast(files, gatewayRoot, { fromMs: 0, untilMs: Date.now(), agentName });
        const text = [...renderCast(cast, "worker")].map(({ line }) => line).join("");
        expect(text).toContain(`row ${events} `);
        rmSync(gatewayRoot, { recursive: true });
      }
    },
    300_000,
  );

  faultTest(
    "meets a full disk",
    {
      area: "machine",
      fault: "The disk runs full under a flight recorder",
      outcome: "nothing waits for it; a gap is recorded as one",
      seen: "`svc record NAME status` has the reason; `svc why --at` names the gap",
      recovery: "free space: it goes on in another part",
    },
    async () => {
      await using disk = mountSmallDisk({ bytes: 4 * 2 ** 20 });
      const files = createFiles({ ids: createIds(), steps: quietSteps });
      const clock = createClock();
      const gatewayRoot = join(disk.path, "gateway");
      mkdirSync(gatewayRoot, { mode: 0o700 });
      let depth = 0;
      let tell = () => {};
      const recorder = createRecorder({
        files,
        clock,
        gatewayRoot,
        title: "worker",
        reserveBytes: 0,
        limits: { maxBytes: 2 ** 20, maxAgeMs: 3_600_000 },
        sources: {
          events(listener) {
            tell = () => {
              depth += 1;
              const request = {
                request_id: `r-${depth}`,
                request_kind: "submit_prompt",
                filler: "y ".repeat(4000),
              };
              const at_utc = new Date(clock.nowMs()).toISOString();
              listener({ seq: depth, kind: "accepted", at_utc, ...request } as never);
            };
            return () => {};
          },
          terminal: () => () => {},
          decisions: () => () => {},
          pane: null,
          queue: () => ({ queue_depth: 0, requests: [] }),
        },
        onProblem: () => {},
      });
      recorder.start();
      tell();
      await until("it records", () => recorder.facts().bytes > 0);
      disk.fill();
      await until("it is refused", () => {
        tell();
        return recorder.facts().problem !== null;
      });
      expect(recorder.facts().problem).toContain("ENOSPC");
      const fullMs = clock.nowMs();
      const lost = depth;
      disk.free();
      await until("it records again", () => {
        tell();
        return recorder.facts().problem === null;
      });
      await recorder.stop();
      const nowMs = clock.nowMs();
      const gap = readMoment(files, gatewayRoot, { atMs: fullMs, nowMs, agentName });
      expect([gap.recorded, gap.gap]).toEqual(["gap", expect.stringContaining("ENOSPC")]);
      expect(gap.queue.queue_depth).toBeLessThanOrEqual(lost);
      expect(readMoment(files, gatewayRoot, { atMs: nowMs, nowMs, agentName }).queue.queue_depth).toBe(depth);
    },
    60_000,
  );
});
