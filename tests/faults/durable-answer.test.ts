import { afterAll, beforeAll, describe, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFaultFixture, type FaultFixture } from "../support/fault-fixture.ts";
import { faultTest } from "../support/fault-table.ts";

const entry = join(import.meta.dir, "../support/faulty-gateway.ts");
const systemCalls = "trace=fsync,fdatasync,pwrite64,write,writev,sendto,sendmsg";

let fixture: FaultFixture;
beforeAll(async () => {
  if (Bun.which("strace") === null) await installStrace();
  fixture = await createFaultFixture();
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

/** Without strace nothing is proved, so its absence is a failure that says what to do. */
async function installStrace(): Promise<void> {
  if (process.platform !== "linux") throw new Error("this proof needs strace and so Linux");
  const install = "apt-get -qq update && apt-get -qq install -y --no-install-recommends strace";
  const root = process.getuid?.() === 0 && Bun.which("apt-get") !== null;
  const done = root && (await Bun.spawn(["sh", "-c", install], { stdout: "ignore" }).exited) === 0;
  if (!done) throw new Error("strace is missing; install the package `strace` and run again");
}

type Act = "wal written" | "wal synced" | "202 sent";

/** What a trace shows of the queue's write-ahead log and of answers, in order. */
function acts(trace: string): Act[] {
  return trace.split("\n").flatMap((line): Act[] => {
    if (/pwrite64\(\d+<[^>]*queue\.sqlite-wal>/.test(line)) return ["wal written"];
    if (/(fsync|fdatasync)\(\d+<[^>]*queue\.sqlite-wal>\)\s+= 0$/.test(line)) return ["wal synced"];
    return line.includes('"HTTP/1.1 202') ? ["202 sent"] : [];
  });
}

/** The last three kinds of act before each answer, repeats counted once. */
function beforeEachAnswer(all: readonly Act[]): Act[][] {
  const kinds = all.filter((act, index) => act !== all[index - 1]);
  return kinds.flatMap((act, index) => (act === "202 sent" ? [kinds.slice(index - 2, index + 1)] : []));
}

describe("a 202", () => {
  const row = {
    area: "machine",
    fault: "The power fails right after a 202",
    outcome:
      "the request is on disk: its row is written and synced before the answer leaves, as the system calls show",
    seen: "the request, after the next start",
    recovery: "by itself",
  } as const;

  faultTest(
    "leaves only after its row was written to the log and the log was synced",
    row,
    async () => {
      const agent = await fixture.launch("worker");
      const out = join(fixture.tmux.folder, "strace");
      await using gateway = await agent.serve({
        command: ["strace", "-f", "-y", "-s", "32", "-e", systemCalls, "-o", out, process.execPath, entry],
      });
      const { client } = gateway;
      if (!client) throw new Error(await gateway.complaints);
      const already = acts(readFileSync(out, "utf8")).length;
      for (const prompt of ["SLOW 600000", "second", "third"]) {
        const reply = await client.call("submitRequest", {
          body: { kind: "submit_prompt", payload: { prompt } },
        });
        expect(reply.kind).toBe("ok");
      }
      await gateway.stop();
      const seen = beforeEachAnswer(acts(readFileSync(out, "utf8")).slice(already));
      expect(seen).toEqual(Array(3).fill(["wal written", "wal synced", "202 sent"]));
    },
    120_000,
  );
});
