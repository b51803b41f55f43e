import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { signalPaths } from "../../src/services/extensions/bridges/signals/spool-source.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { coordinatorRows, type FullDiskWrite, fileRows, turnRows } from "../support/damaged-rows.ts";
import { createSickFixture, launchSick, type SickAgent } from "../support/sick-agent.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { sparePorts } from "../support/spare-ports.ts";
import { until } from "../support/until.ts";

/**
 * What writes each file that `docs/how-it-works.md` lists, on a disk that is full: it is refused with the
 * reason, or goes on without the file and says so, and works again once there is room. One disk, one gateway.
 */

const fullDisk = "the disk is full; make room and try again";

let fixture: CliFixture;
let disk: SmallDisk;
let worker: SickAgent;
let batch: SickAgent;
let port = 0;
let messageRef = "";
let read = false;

beforeAll(async () => {
  disk = mountSmallDisk({ bytes: 24 * 2 ** 20 });
  fixture = createSickFixture();
  Object.assign(fixture.env, { XDG_STATE_HOME: disk.path });
  worker = await launchSick({
    fixture,
    name: "worker",
    flags: ["--mailbox-root", join(disk.path, "mail")],
    agentFlags: ["--signals"],
    env: { SVC_GATEWAY_TOKEN: "a-token-of-this-test" },
  });
  batch = await launchSick({ fixture, name: "batch", flags: ["--headless"] });
  [port = 0] = await sparePorts(1);
  mkdirSync(join(disk.path, "project/.svc"), { recursive: true, mode: 0o700 });
}, 60_000);
afterAll(async () => {
  disk?.free();
  await fixture?.[Symbol.asyncDispose]();
  await disk?.[Symbol.asyncDispose]();
}, 60_000);

type Reported = { refused: string } | { done: true } | { other: string };

const http = async (agent: SickAgent, path: string, body: object): Promise<Reported> => {
  const answer = await agent.ask(path, body);
  if (answer.status < 300) return { done: true };
  const detail = String(answer.body["detail"]);
  return detail.includes(fullDisk)
    ? { refused: String(answer.status) }
    : { other: `${answer.status} ${detail}` };
};

async function run(program: "svc-mgr" | "svc-coord", ...words: string[]): Promise<Reported> {
  const { exitCode, stderr, stdout } = await fixture.run(program, words);
  if (exitCode === 0) return { done: true };
  return stderr.includes(fullDisk)
    ? { refused: `exit ${exitCode}` }
    : { other: `${exitCode} ${stderr}${stdout}` };
}

const single = (...words: string[]) => run("svc-mgr", "agents", "single", "--agent-name", "worker", ...words);
const launch = (name: string, ...flags: string[]) =>
  run(
    "svc-mgr",
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    name,
    ...flags,
    "--gateway-background",
  );
const mail = { to: ["worker@svc.localhost"], subject: "s", body_content: "b", schema_version: 1 };

/** What writes the files, and what is told of it on a full disk; with room each is done. */
const writes: Record<FullDiskWrite, { act: () => Promise<Reported>; full: Reported }> = {
  prompt: {
    act: () => http(worker, "/v1/requests", { kind: "submit_prompt", payload: { prompt: "p\nFAST" } }),
    full: { refused: "503" },
  },
  turn: {
    act: () => http(batch, "/v1/requests", { kind: "submit_prompt", payload: { prompt: "p\nFAST" } }),
    full: { refused: "503" },
  },
  mail: { act: () => http(worker, "/v1/mail/send", mail), full: { refused: "502" } },
  "mail flags": {
    async act() {
      read = !read;
      return http(worker, "/v1/mail/mark", { schema_version: 1, message_refs: [messageRef], read });
    },
    full: { refused: "502" },
  },
  "mailbox init": {
    act: () => run("svc-mgr", "mailbox", "init", "--mailbox-root", join(disk.path, "other-mail")),
    full: { refused: "exit 3" },
  },
  // Reminders are in memory; the record of them is only for the gateway after this one.
  reminder: {
    async act() {
      const reminders = [
        { title: "t", mode: "one_off", prompt: "p", ranking: 0, start_after_seconds: 86_400 },
      ];
      return http(worker, "/v1/reminders", { reminders });
    },
    full: { done: true },
  },
  status: {
    async act() {
      const { body } = await worker.ask("/v1/status");
      const { reason } = (body["admission_block"] ?? {}) as { reason?: string };
      return reason === "disk_full" ? { refused: reason } : { done: true };
    },
    full: { refused: "disk_full" },
  },
  event: {
    act: () => http(worker, "/v1/control/send-keys", { sequence: "<[Left]>" }),
    full: { done: true },
  },
  manifest: {
    act: () =>
      single("mailbox", "register", "--mailbox-root", join(disk.path, "mail"), "--mode", "force", "--yes"),
    full: { refused: "exit 3" },
  },
  "desired config": {
    act: () => single("gateway", "attach", "--attachment-root", fixture.folder),
    full: { refused: "exit 1" },
  },
  // A hook never fails: what it cannot report is lost, and the screen tells.
  hook: {
    async act() {
      const { spool } = signalPaths(worker.sessionRoot);
      const payload = JSON.stringify({
        hook_event_name: "UserPromptSubmit",
        session_id: "s",
        prompt: "x".repeat(9000),
      });
      const hook = await fixture.run("svc-gateway", ["signal", "demo", spool, payload]);
      expect([hook.exitCode, hook.stdout, hook.stderr]).toEqual([0, "", ""]);
      // A line that does not fit is cut off, and the next one begins anew.
      return readFileSync(spool, "utf8").endsWith("}\n") ? { done: true } : { refused: "silently" };
    },
    full: { refused: "silently" },
  },
  launch: { act: () => launch("second"), full: { refused: "exit 1" } },
  "headless launch": {
    act: () => launch("third", "--headless", "--env", "GIVEN=value"),
    full: { refused: "exit 1" },
  },
  adopt: {
    act: () => run("svc-mgr", "overlay", "adopt", join(disk.path, "project/.svc")),
    full: { refused: "exit 1" },
  },
  coordinator: {
    async act() {
      const child = Bun.spawn([...fixture.command("svc-coord"), "serve", "--port", String(port), "--json"], {
        env: { ...fixture.env, SVC_COORD_TOKEN: "a-token-of-this-test" },
        cwd: fixture.workdir,
        stdout: "pipe",
        stderr: "pipe",
      });
      const { value } = await child.stdout.getReader().read();
      if (value !== undefined) child.kill("SIGTERM");
      const code = await child.exited;
      const stderr = await new Response(child.stderr).text();
      if (value !== undefined && code === 0) return { done: true };
      return stderr.includes(fullDisk) ? { refused: `exit ${code}` } : { other: `${code} ${stderr}` };
    },
    full: { refused: "exit 1" },
  },
  // The last: it ends the gateway that answers the others.
  start: {
    async act() {
      await worker.killGateway();
      return single("gateway", "attach", "--background");
    },
    full: { refused: "exit 1" },
  },
  lock: { act: async () => ({ done: true }), full: { done: true } },
};
const names = Object.keys(writes) as FullDiskWrite[];

describe("on a full disk", () => {
  const full = new Map<FullDiskWrite, Reported>();
  const roomy = new Map<FullDiskWrite, Reported>();
  let seen: { doctor: [number | null, unknown]; offline: [number | null, unknown]; list: unknown };

  beforeAll(async () => {
    expect(await writes.mail.act()).toEqual({ done: true });
    const { body } = await worker.ask("/v1/mail/list", { schema_version: 1, box: "inbox" });
    messageRef = (body["messages"] as { message_ref: string }[])[0]?.message_ref ?? "";
    for (const name of names) {
      // What a refused write gave back is room for a moment.
      disk.fill();
      full.set(name, await writes[name].act());
    }
    disk.fill();
    await until("the gateway of the headless agent to meet the full disk", async () => {
      const { body } = await batch.ask("/v1/status");
      return (body["admission_block"] as { reason?: string } | undefined)?.reason === "disk_full";
    });
    const doctor = await fixture.mgr("doctor", "--json");
    const checks = doctor.json()["checks"] as { name: string; verdict: string; detail: string }[];
    const list = (await fixture.mgr("agents", "list", "--json")).json()["agents"] as { agent_name: string }[];
    const status = await worker.mgr("gateway", "status", "--json");
    seen = {
      doctor: [
        doctor.exitCode,
        checks.filter(({ detail }) => detail.includes("is full")).map((one) => one.verdict),
      ],
      offline: [status.exitCode, status.json()["request_admission"]],
      list: list.map((one) => one.agent_name).sort(),
    };
    disk.free();
    await worker.attach();
    for (const name of names) roomy.set(name, await writes[name].act());
  }, 240_000);

  test.each(names)(
    "%s is refused with the reason, or goes on and loses nothing that was promised",
    (name) => {
      expect(full.get(name)).toEqual(writes[name].full);
    },
  );

  test.each(names)("%s is done once there is room", (name) => {
    expect(roomy.get(name)).toEqual({ done: true });
  });

  test.each([...fileRows, ...turnRows, ...coordinatorRows])(
    "$file has a write among these",
    ({ full: by }) => {
      expect(names).toContain(by);
    },
  );

  test("list, status and doctor say what is so, also without a gateway", () => {
    expect(seen).toEqual({
      doctor: [1, expect.arrayContaining(["missing", "damaged"])],
      offline: [0, "blocked_unavailable"],
      list: ["batch", "worker"],
    });
  });

  test("what happened on the full disk is in the history, each number once", () => {
    const seqs = worker.events().map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });
});
