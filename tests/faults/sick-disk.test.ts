import { describe, expect } from "bun:test";
import { readdirSync } from "node:fs";
import { faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { until } from "../support/until.ts";

const fullDisk = expect.stringContaining("the disk is full; make room and try again");
const roomy = 8 * 2 ** 20;

const ask = { to: ["worker@svc.localhost"], subject: "s", body_content: "b", schema_version: 1 };

/** Accepts a prompt, and sees it delivered. */
async function works(agent: SickAgent, prompt: string): Promise<void> {
  const accepted = await agent.prompt(prompt);
  expect(accepted).toMatchObject({ status: 202 });
  expect(await agent.ended(accepted.body["request_id"])).toMatchObject({ state: "completed" });
}

describe("a disk that is full", () => {
  const row = {
    area: "machine",
    fault: "The disk runs full under a gateway and its mailbox",
    outcome:
      "nothing is accepted that is not on disk; what was accepted before is kept; nothing is sent twice",
    seen: "prompts and interrupts: 503, mail: 502, both with `the disk is full; make room and try again`; the status has `blocked_unavailable` with `disk_full`",
    recovery: "room: the same process accepts again, and writes the events it held back",
  } as const;

  faultTest(
    "refuses with a clear word and serves again without a restart",
    row,
    async () => {
      await using disk = mountSmallDisk({ bytes: roomy });
      await using agent = await launchSick({
        stateHome: disk.path,
        flags: ["--mailbox-root", `${disk.path}/mail`],
      });
      await works(agent, "before\nFAST");
      const before = agent.gatewayPid();
      expect((await agent.ask("/v1/mail/send", ask)).status).toBe(200);
      await works(agent, "keeps the agent busy\nSLOW 600000");
      const waiting = await agent.prompt("waits\nFAST");
      expect(waiting.status).toBe(202);
      disk.fill();

      for (let nth = 1; nth <= 3; nth++) {
        const answer = await agent.prompt(`refused ${nth}\nFAST`);
        expect(answer).toMatchObject({ status: 503, body: { detail: fullDisk } });
        expect(JSON.stringify(answer.body)).not.toContain(disk.path);
      }
      expect(await agent.ask("/v1/requests", { kind: "interrupt" })).toMatchObject({
        status: 503,
        body: { detail: fullDisk },
      });
      expect(await agent.ask("/v1/mail/send", ask)).toMatchObject({
        status: 502,
        body: { detail: fullDisk },
      });
      const closed = await until("the true admission", async () => {
        // What a refused write gave back is room for a moment.
        disk.fill();
        const { body } = await agent.ask("/v1/status");
        return body["request_admission"] === "blocked_unavailable" && body;
      });
      expect(closed).toMatchObject({
        managed_agent_connectivity: "connected",
        admission_block: { reason: "disk_full", detail: fullDisk },
      });
      const told = await agent.mgr("prompt", "--prompt", "by hand");
      expect(told).toMatchObject({ exitCode: 1, stderr: fullDisk });

      disk.free();
      expect((await agent.ask("/v1/requests", { kind: "interrupt" })).status).toBe(202);
      expect(await agent.ended(waiting.body["request_id"])).toMatchObject({ state: "completed" });
      await works(agent, "after\nFAST");
      expect((await agent.ask("/v1/mail/send", ask)).status).toBe(200);
      const list = await agent.ask("/v1/mail/list", { schema_version: 1, box: "inbox" });
      expect(list.body["message_count"]).toBe(2);
      expect(agent.gatewayPid()).toBe(before);
      expect(agent.heard()).toEqual([
        "before\nFAST",
        "keeps the agent busy\nSLOW 600000",
        "waits\nFAST",
        "after\nFAST",
      ]);
      const seqs = agent.events().map((event) => event.seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    },
    120_000,
  );

  const startRow = {
    area: "machine",
    fault: "A gateway is started, or an agent launched, on a full disk",
    outcome: "no half of a gateway or an agent is left; the queue is as it was",
    seen: "exit 1 with `the disk is full; make room and try again`",
    recovery: "room, and the same command again",
  } as const;

  faultTest(
    "keeps a gateway from starting, with its reason, and harms nothing",
    startRow,
    async () => {
      await using disk = mountSmallDisk({ bytes: roomy });
      await using agent = await launchSick({ stateHome: disk.path });
      await works(agent, "keeps the agent busy\nSLOW 600000");
      const waiting = await agent.prompt("waits\nFAST");
      expect(waiting.status).toBe(202);
      await agent.killGateway();
      disk.fill();
      expect(await agent.attach()).toMatchObject({ exitCode: 1, stderr: fullDisk });
      const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "second"];
      expect(await agent.fixture.mgr(...launch)).toMatchObject({ exitCode: 1, stderr: fullDisk });
      expect(await agent.fixture.sessions()).toHaveLength(1);

      disk.free();
      expect((await agent.attach()).exitCode).toBe(0);
      expect((await agent.ask("/v1/requests", { kind: "interrupt" })).status).toBe(202);
      expect(await agent.ended(waiting.body["request_id"])).toMatchObject({ state: "completed" });
      expect(await agent.fixture.mgr(...launch, "--gateway-background")).toMatchObject({ exitCode: 0 });
      expect(await agent.mgr("stop")).toMatchObject({ exitCode: 0 });
      expect(await agent.fixture.sessions()).toHaveLength(1);
    },
    120_000,
  );
});

describe("a disk that runs full before a queue is worked off", () => {
  const row = {
    area: "machine",
    fault: "The disk runs full while a prompt waits, and the agent becomes ready",
    outcome: "the prompt stays accepted and is not typed",
    seen: "what waits says `the disk is full`, not what it waited for before",
    recovery: "room: it is delivered by itself",
  } as const;

  faultTest(
    "says so in what waits, and goes on by itself",
    row,
    async () => {
      await using disk = mountSmallDisk({ bytes: roomy });
      await using agent = await launchSick({ stateHome: disk.path });
      await works(agent, "keeps the agent busy\nSLOW 600000");
      const waiting = await agent.prompt("waits\nFAST");
      disk.fill();
      await agent.fixture.tmux("send-keys", "-t", `=${(await agent.fixture.sessions())[0]}:0.0`, "Escape");
      await until("the true reason", async () => {
        const { body } = await agent.ask("/v1/status");
        const told = body["waiting"] as { detail: string } | undefined;
        return told?.detail.includes("the disk is full");
      });
      expect(await agent.ask(`/v1/requests/${waiting.body["request_id"]}`)).toMatchObject({
        body: { state: "accepted", waiting: { detail: fullDisk } },
      });
      disk.free();
      expect(await agent.ended(waiting.body["request_id"])).toMatchObject({ state: "completed" });
      expect(agent.heard().at(-1)).toBe("waits\nFAST");
    },
    120_000,
  );

  const stopRow = {
    area: "machine",
    fault: "An agent is stopped on a full disk",
    outcome: "its gateway, its processes and its session end",
    seen: "exit 0, and a line for each thing that could not be written",
    recovery: "room, and the same command again: its record says `stopped`",
  } as const;

  faultTest(
    "does not keep an agent from its end",
    stopRow,
    async () => {
      await using disk = mountSmallDisk({ bytes: roomy });
      await using agent = await launchSick({ stateHome: disk.path });
      const waiting = await agent.prompt("waits\nFAST");
      expect(waiting.status).toBe(202);
      const pid = agent.gatewayPid();
      // A gateway that ends removes files, whose room another program takes.
      const stop = await disk.whileFull(() => agent.mgr("stop", "--json"));
      expect(stop).toMatchObject({ exitCode: 0 });
      expect(stop.json()).toMatchObject({
        success: true,
        gateway: "stopped",
        unwritten: [expect.stringContaining("its record: a file of svc cannot be used: the disk is full")],
      });
      expect([agent.fixture.alive(pid), await agent.fixture.sessions()]).toEqual([false, []]);
      expect((await agent.mgr("gateway", "status", "--json")).json()).toMatchObject({
        gateway_health: "not_attached",
      });
      disk.free();
      expect(await agent.mgr("stop")).toMatchObject({ exitCode: 0 });
      const { agents } = (await agent.fixture.mgr("agents", "list", "--state", "stopped", "--json")).json();
      expect(agents).toMatchObject([{ agent_name: "worker" }]);
    },
    120_000,
  );
});

const namesRow = {
  area: "machine",
  fault: "The disk has room but takes no further files (its inodes are used up)",
  outcome:
    "the queue and the index of the mail, whose files are there already, go on accepting; only what needs a new file is refused",
  seen: "mail: 200, and a line in gateway.log that its file cannot be put on disk; with an attachment 502 with `the disk is full; make room and try again`",
  recovery: "files removed: the files of the mail are written without a restart",
} as const;

faultTest(
  "a disk without names for further files stops only what needs one",
  namesRow,
  async () => {
    await using disk = mountSmallDisk({ bytes: roomy, names: 400 });
    await using agent = await launchSick({
      stateHome: disk.path,
      flags: ["--mailbox-root", `${disk.path}/mail`],
    });
    expect((await agent.ask("/v1/mail/send", ask)).status).toBe(200);
    disk.fillNames();
    await works(agent, "without a name\nFAST");
    expect((await agent.ask("/v1/mail/send", ask)).status).toBe(200);
    const attachments = [{ path: import.meta.path }];
    expect(await agent.ask("/v1/mail/send", { ...ask, attachments })).toMatchObject({
      status: 502,
      body: { detail: fullDisk },
    });
    const list = await agent.ask("/v1/mail/list", { include_body: true });
    expect(list.body["messages"]).toMatchObject(
      [ask, ask].map(({ body_content }) => ({ body_text: body_content })),
    );
    disk.free();
    const messages = `${disk.path}/mail/messages`;
    await until("the file of the mail", () => readdirSync(messages, { recursive: true }).length === 3);
    await works(agent, "with names\nFAST");
    expect(agent.heard()).toEqual(["without a name\nFAST", "with names\nFAST"]);
  },
  120_000,
);

const readOnlyRow = {
  area: "machine",
  fault: "The disk is read-only, or the folder may not be written",
  outcome: "no gateway is started and no agent launched; what is there can be read and is not changed",
  seen: "exit 1 with `it may not be written by this user, or its disk is read-only`; `agents list` goes on",
  recovery: "a disk that can be written, and the same command again",
} as const;

faultTest(
  "a read-only disk is told as such, and everything goes on when it can be written",
  readOnlyRow,
  async () => {
    await using disk = mountSmallDisk({ bytes: roomy });
    await using agent = await launchSick({ stateHome: disk.path });
    await works(agent, "before\nFAST");
    await agent.killGateway("SIGTERM");
    await disk.readOnly(true);
    const readOnly = expect.stringContaining("its disk is read-only");
    expect(await agent.attach()).toMatchObject({ exitCode: 1, stderr: readOnly });
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "second"];
    expect(await agent.fixture.mgr(...launch)).toMatchObject({ exitCode: 1, stderr: readOnly });
    expect(await agent.fixture.mgr("agents", "list")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("worker"),
    });
    expect(await agent.fixture.sessions()).toHaveLength(1);
    await disk.readOnly(false);
    expect((await agent.attach()).exitCode).toBe(0);
    await works(agent, "after\nFAST");
    expect(agent.heard()).toEqual(["before\nFAST", "after\nFAST"]);
  },
  120_000,
);
