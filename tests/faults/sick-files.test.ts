import { describe, expect } from "bun:test";
import {
  closeSync,
  existsSync,
  globSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type FaultRow, faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

/** Overwrites a part of a file: `from` and `bytes` as shares of its size. */
function damage(path: string, from: number, bytes: number): void {
  const { size } = statSync(path);
  const handle = openSync(path, "r+");
  writeSync(handle, new Uint8Array(Math.ceil(size * bytes)).fill(0xa5), 0, null, Math.floor(size * from));
  closeSync(handle);
}

/** An agent that did one prompt, is busy with another, and has five that wait. Their request ids. */
async function withWork(agent: SickAgent) {
  const accept = async (prompt: string) => {
    const { status, body } = await agent.prompt(prompt);
    expect(status).toBe(202);
    return String(body["request_id"]);
  };
  const done = await accept("done\nFAST");
  await agent.ended(done);
  const busy = await accept("busy\nSLOW 600000");
  await agent.ended(busy);
  const waiting: string[] = [];
  for (let nth = 1; nth <= 5; nth++) waiting.push(await accept(`waits ${nth}\nFAST`));
  return { done, busy, waiting };
}

async function goOn(agent: SickAgent): Promise<void> {
  expect((await agent.ask("/v1/requests", { kind: "interrupt" })).status).toBe(202);
  const last = await agent.prompt("last\nFAST");
  expect(last.status).toBe(202);
  expect(await agent.ended(last.body["request_id"])).toMatchObject({ state: "completed" });
}

/** No request vanished: each has an end that fits what the agent heard, and none was heard twice. */
async function accountedFor(agent: SickAgent, ids: Record<string, string>): Promise<void> {
  const heard = agent.heard();
  expect(heard).toEqual([...new Set(heard)]);
  for (const [prompt, id] of Object.entries(ids)) {
    const record = await agent.ended(id);
    const times = heard.filter((text) => text.startsWith(`${prompt}\n`)).length;
    if (record.state === "completed") expect([prompt, times]).toEqual([prompt, 1]);
    else expect(record.result_json).toMatchObject({ outcome: "unknown" });
  }
}

const named = ({ done, busy, waiting }: Awaited<ReturnType<typeof withWork>>) => ({
  done,
  busy,
  ...Object.fromEntries(waiting.map((id, index) => [`waits ${index + 1}`, id])),
});

const unknownEnds = "what was lost ends as `failed` with `outcome: unknown`, event `requests_recalled`";

describe("queue.sqlite", () => {
  const damaged: FaultRow = {
    area: "files",
    fault: "A page of queue.sqlite is damaged",
    outcome: "the gateway does not start; nothing is guessed and nothing done twice",
    seen: "exit 3: `queue.sqlite is damaged: put a copy of it in its place, or move it ... away`",
    recovery: `moved away: an empty queue; ${unknownEnds}`,
  };

  faultTest(
    "that is damaged is refused, and what it held is accounted for once it was moved away",
    damaged,
    async () => {
      await using agent = await launchSick();
      const work = await withWork(agent);
      await agent.killGateway("SIGTERM");
      const whole = statSync(agent.paths.queue).size;
      damage(agent.paths.queue, 0.4, 4096 / whole);
      expect(await agent.attach()).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining("queue.sqlite is damaged"),
      });
      expect(statSync(agent.paths.queue).size).toBe(whole);
      for (const end of ["", "-wal", "-shm"]) {
        const path = `${agent.paths.queue}${end}`;
        if (existsSync(path)) renameSync(path, join(agent.fixture.folder, `away${end}`));
      }
      expect((await agent.attach()).exitCode).toBe(0);
      await goOn(agent);
      await accountedFor(agent, named(work));
      expect(await agent.ended(work.done)).toMatchObject({ state: "completed" });
      expect(agent.events().filter((event) => event.kind === "requests_recalled")).toHaveLength(1);
    },
    120_000,
  );

  const cut: FaultRow = {
    area: "files",
    fault: "queue.sqlite is cut to nothing, or removed, while no gateway runs",
    outcome: "the gateway begins an empty queue; no request vanishes and none is sent twice",
    seen: unknownEnds,
    recovery: "what did not run can be sent again",
  };

  faultTest(
    "that was emptied is accounted for from the history",
    cut,
    async () => {
      await using agent = await launchSick();
      const work = await withWork(agent);
      await agent.killGateway("SIGTERM");
      truncateSync(agent.paths.queue, 0);
      expect((await agent.attach()).exitCode).toBe(0);
      await goOn(agent);
      await accountedFor(agent, named(work));
      for (const id of work.waiting) {
        expect(await agent.ended(id)).toMatchObject({
          error_detail: expect.stringContaining("lost with the file queue.sqlite"),
        });
      }
    },
    120_000,
  );

  const log: FaultRow = {
    area: "files",
    fault: "The write-ahead log of queue.sqlite is damaged after a gateway was killed",
    outcome: "SQLite goes on from what stands before the damage; what was begun after it is not sent again",
    seen: unknownEnds,
    recovery: "by itself; what did not run can be sent again",
  };

  faultTest(
    "whose log is damaged repeats nothing and loses nothing silently",
    log,
    async () => {
      await using agent = await launchSick();
      const work = await withWork(agent);
      // The history is written a moment after the answer.
      await until("the history", () =>
        agent.events().some((one) => (one as Record<string, unknown>)["request_id"] === work.waiting.at(-1)),
      );
      await agent.killGateway();
      damage(`${agent.paths.queue}-wal`, 0.35, 0.01);
      expect((await agent.attach()).exitCode).toBe(0);
      expect(agent.events().filter((event) => event.kind === "requests_recalled")).toHaveLength(1);
      await goOn(agent);
      await accountedFor(agent, named(work));
    },
    120_000,
  );

  const removed: FaultRow = {
    area: "files",
    fault: "queue.sqlite is removed under a gateway that runs",
    outcome: "nothing more is accepted into a file without a name; what it held is written anew in its place",
    seen: "503: `queue.sqlite was removed or replaced under the gateway; restart the gateway`",
    recovery: "the next gateway has every request and works it off",
  };

  faultTest(
    "that is removed under a gateway is written anew, and loses nothing",
    removed,
    async () => {
      await using agent = await launchSick();
      const work = await withWork(agent);
      for (const path of globSync(`${agent.paths.queue}*`)) rmSync(path);
      for (let nth = 1; nth <= 2; nth++) {
        expect(await agent.prompt("refused\nFAST")).toMatchObject({
          status: 503,
          body: { detail: expect.stringContaining("restart the gateway") },
        });
      }
      expect(statSync(agent.paths.queue).mode & 0o777).toBe(0o600);
      await agent.killGateway("SIGTERM");
      expect((await agent.attach()).exitCode).toBe(0);
      await goOn(agent);
      for (const id of [work.done, work.busy, ...work.waiting]) {
        expect(await agent.ended(id)).toMatchObject({ state: "completed" });
      }
      await accountedFor(agent, named(work));
    },
    120_000,
  );
});

const mail: FaultRow = {
  area: "files",
  fault: "A database of the mailbox (index.sqlite or mailbox.sqlite) is damaged",
  outcome:
    "mail is refused; prompts go on; no message is lost, since each is a file some milliseconds after its answer",
  seen: "502: `a database of it is damaged; a repair rebuilds it`",
  recovery: "`svc-mgr mailbox repair`, then the same gateway serves the mail again",
};

faultTest(
  "a damaged mailbox is refused, repaired by the command that the refusal names, and whole again",
  mail,
  async () => {
    await using agent = await launchSick();
    const root = join(agent.fixture.folder, "mail");
    const register = await agent.mgr("mailbox", "register", "--mailbox-root", root);
    expect(register.exitCode).toBe(0);
    const draft = { to: ["worker@svc.localhost"], body_content: "b", schema_version: 1 };
    const send = (subject: string) => agent.ask("/v1/mail/send", { ...draft, subject });
    const subjects = async () => {
      const { body } = await agent.ask("/v1/mail/list", { schema_version: 1, box: "inbox" });
      return (body["messages"] as { subject: string }[]).map((one) => one.subject).sort();
    };
    expect((await send("first")).status).toBe(200);
    for (const name of ["index.sqlite", "mailboxes/worker@svc.localhost/mailbox.sqlite"]) {
      await agent.killGateway("SIGTERM");
      damage(join(root, name), 0, 0.3);
      expect((await agent.attach()).exitCode).toBe(0);
      expect(await send("refused")).toMatchObject({
        status: 502,
        body: { detail: expect.stringContaining("svc-mgr mailbox repair") },
      });
      const prompt = await agent.prompt(`beside ${name}\nFAST`);
      expect(await agent.ended(prompt.body["request_id"])).toMatchObject({ state: "completed" });
      const repair = await agent.fixture.mgr("mailbox", "repair", "--mailbox-root", root);
      expect([repair.exitCode, repair.stderr]).toEqual([0, ""]);
      expect((await send(`after ${name}`)).status).toBe(200);
    }
    expect(await subjects()).toEqual([
      "after index.sqlite",
      "after mailboxes/worker@svc.localhost/mailbox.sqlite",
      "first",
    ]);
  },
  120_000,
);
