import { afterAll, beforeAll, describe, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFaultFixture, type FaultFixture, type GatewayProcess } from "../support/fault-fixture.ts";
import { faultTest } from "../support/fault-table.ts";
import { createMailRootFixture } from "../support/mail-root.ts";
import { until } from "../support/until.ts";

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

type Act = "wal written" | "wal synced" | "202 sent" | "text sent" | "Enter sent";

/** What a trace shows of the queue's write-ahead log, of answers and of what tmux is given, in order. */
function acts(trace: string): Act[] {
  return trace.split("\n").flatMap((line): Act[] => {
    if (/pwrite64\(\d+<[^>]*queue\.sqlite-wal>/.test(line)) return ["wal written"];
    if (/(fsync|fdatasync)\(\d+<[^>]*queue\.sqlite-wal>\)\s+= 0$/.test(line)) return ["wal synced"];
    if (line.includes('"set-buffer -b svc-')) return ["text sent"];
    if (/send-keys -t (?:%|\\+045)\d+ Enter/.test(line)) return ["Enter sent"];
    return line.includes('"HTTP/1.1 202') ? ["202 sent"] : [];
  });
}

/** The last three kinds of act before each answer, repeats counted once. */
function beforeEachAnswer(all: readonly Act[]): Act[][] {
  const kinds = all.filter((act, index) => act !== all[index - 1]);
  return kinds.flatMap((act, index) => (act === "202 sent" ? [kinds.slice(index - 2, index + 1)] : []));
}

/** A gateway beside `agentName`, and what its system calls do from then until it is stopped. */
async function traced(
  agentName: string,
  work: (gateway: GatewayProcess) => Promise<void>,
): Promise<readonly Act[]> {
  const agent = await fixture.launch(agentName);
  const out = join(fixture.tmux.folder, `strace-${agentName}`);
  await using gateway = await agent.serve({
    command: ["strace", "-f", "-y", "-s", "4096", "-e", systemCalls, "-o", out, process.execPath, entry],
  });
  if (!gateway.client) throw new Error(await gateway.complaints);
  const already = acts(readFileSync(out, "utf8")).length;
  await work(gateway);
  await gateway.stop();
  return acts(readFileSync(out, "utf8")).slice(already);
}

async function submit({ client }: GatewayProcess, prompt: string): Promise<string> {
  const reply = await client?.call("submitRequest", { body: { kind: "submit_prompt", payload: { prompt } } });
  if (reply?.kind !== "ok") throw new Error(JSON.stringify(reply));
  return reply.body.request_id;
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
      const all = await traced("worker", async (gateway) => {
        for (const prompt of ["SLOW 600000", "second", "third"]) await submit(gateway, prompt);
      });
      const seen = beforeEachAnswer(all.filter((act) => act !== "text sent" && act !== "Enter sent"));
      expect(seen).toEqual(Array(3).fill(["wal written", "wal synced", "202 sent"]));
    },
    120_000,
  );
});

describe("a prompt", () => {
  const row = {
    area: "machine",
    fault: "The power fails while a prompt is typed",
    outcome:
      "it is not typed again: the agent ends with the machine, and what was accepted for it is refused for the next one; Enter is pressed only after the step `typed` was written and synced, as the system calls show",
    seen: "the request is `failed`, with the evidence of how far it got",
    recovery: "`svc-mgr agents gateway attach --reconcile`, then the prompt again where it was not submitted",
  } as const;

  faultTest(
    "gets its Enter only after its text was sent and that was written and synced",
    row,
    async () => {
      const all = await traced("typist", async (gateway) => {
        const id = await submit(gateway, "FAST");
        await until("it is delivered", async () => {
          const reply = await gateway.client?.call("readRequest", { params: { request_id: id } });
          return reply?.kind === "ok" && reply.body.state === "completed";
        });
      });
      const enter = all.indexOf("Enter sent");
      const text = all.indexOf("text sent");
      expect(text).toBeGreaterThan(-1);
      expect(enter).toBeGreaterThan(text);
      const between = all.slice(text, enter);
      expect(between.lastIndexOf("wal synced")).toBeGreaterThan(between.lastIndexOf("wal written"));
    },
    120_000,
  );
});

describe("a message", () => {
  const row = {
    area: "mail",
    fault: "The power fails right after a message was answered",
    outcome:
      "its text is on disk: the index is written and synced before the answer, as the system calls show",
    seen: "the message",
    recovery:
      "by itself: the next svc that opens the mailbox root, or finds new mail in it, writes a missing file",
  } as const;

  faultTest(
    "is answered only after the log of the index, which holds its text, was synced",
    row,
    async () => {
      using mail = createMailRootFixture();
      for (const name of ["ada", "ben", "cleo"]) mail.mailbox(name);
      mail.putOnDisk();
      const out = mail.scratch.path("strace");
      const sender = join(import.meta.dir, "../support/faulty-mailbox.ts");
      const command = ["strace", "-f", "-y", "-s", "4096", "-e", systemCalls, "-o", out];
      const child = Bun.spawn([...command, process.execPath, sender, "send", mail.path], { stdout: "pipe" });
      expect(await new Response(child.stdout).text()).toBe("done\n");
      const lines = readFileSync(out, "utf8").split("\n");
      const log = "index\\.sqlite-wal>";
      const written = lines.findLastIndex((line) =>
        new RegExp(`pwrite64\\(\\d+<[^>]*${log}.*subject: `).test(line),
      );
      const synced = lines.findIndex(
        (line, at) =>
          at > written && new RegExp(`(fsync|fdatasync)\\(\\d+<[^>]*${log}\\)\\s+= 0$`).test(line),
      );
      const said = lines.findIndex((line) => line.includes('"done\\n"'));
      expect({ written: written >= 0, order: written < synced && synced < said }).toEqual({
        written: true,
        order: true,
      });
    },
    120_000,
  );
});
