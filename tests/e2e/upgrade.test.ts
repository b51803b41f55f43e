import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gatewayMigrations } from "../../src/db/gateway/request-store.ts";
import { catalogMigrations } from "../../src/db/mailbox/catalog/migrations.ts";
import { stateMigrations } from "../../src/db/mailbox/state/migrations.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { matrixTests } from "../support/matrix.ts";
import { dump, load, releasedFolder, restore } from "../support/released.ts";
import { until } from "../support/until.ts";

// What earlier versions left on disk, opened by this one. Each folder of tests/released is one version.

type Json = Record<string, unknown>;
interface Kept {
  name: string;
  requests: Json[];
  /** Null for a version without mail. */
  mail: Json | null;
  /** What the headless agent was asked; null for a version without. */
  headless: Json[] | null;
}

const kept: Kept[] = readdirSync(releasedFolder)
  .sort()
  .map((name) => ({
    name,
    requests: (read(name, "requests.json") as { requests: Json[] }).requests,
    mail: read(name, "mail.json"),
    headless: (read(name, "headless.json") as { requests: Json[] } | null)?.requests ?? null,
  }));

function read(...path: string[]): Json | null {
  try {
    return JSON.parse(readFileSync(join(releasedFolder, ...path), "utf8")) as Json;
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** This version as a person upgrades to it; agents that live were launched from elsewhere. */
const executable = join(import.meta.dir, "../../dist/svc-gateway");
const processes = createProcesses({ steps: quietSteps });
const one = ["agents", "single", "--agent-name", "worker"];
const ids = (requests: Json[]) => requests.map((request) => request["request_id"]);
/**
 * Without what a person is told of why it waits, which is of now; the number of the request, which earlier
 * versions did not say; and the end of a turn that ended with its agent, which is said since the relaunch.
 */
function lasting({ waiting: _, number: _number, evidence, ...request }: Json): Json {
  return { ...request, evidence: (evidence as Json[]).filter((one) => one["agent_ended"] !== true) };
}

/**
 * Processes of this machine may have the ids that were recorded on another one: the records name one that
 * ended.
 */
function endRecordedProcesses(folder: string): void {
  const { pid } = Bun.spawnSync(["true"]);
  const options = { cwd: folder, absolute: true, dot: true };
  for (const path of new Bun.Glob("**/current-instance.json").scanSync(options)) {
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), pid }));
  }
}

/**
 * A home in which the version `name` ran until its machine went down. `adopted`: as its user is told to do.
 */
async function homeOf(name: string, { adopted = true } = {}) {
  const fixture = createCliFixture({ executable });
  const home = fixture.env["HOME"] ?? "";
  const places = [
    ["socket", fixture.socket],
    ["home", home],
    ["work", fixture.workdir],
    ["bun", process.execPath],
    ["source", join(import.meta.dir, "../..")],
  ] as const;
  restore(join(releasedFolder, name, "state"), join(home, ".local/state/svc"), places);
  if (read(name, "mail.json") !== null) {
    restore(join(releasedFolder, name, "project"), join(fixture.workdir, ".svc"), places);
    if (adopted) await fixture.mgr("overlay", "adopt");
  }
  for (const folder of [home, fixture.workdir]) endRecordedProcesses(folder);
  return {
    fixture,
    mailbox: join(fixture.workdir, ".svc/mailbox"),
    async mgr(...words: string[]): Promise<Json> {
      const run = await fixture.mgr(...words, "--json");
      if (run.exitCode !== 0) throw new Error(`${words.join(" ")}: ${run.stderr}`);
      return run.json();
    },
    async requests(): Promise<Json[]> {
      const answer = await this.mgr(...one, "requests", "list");
      return answer["requests"] as Json[];
    },
    async [Symbol.asyncDispose]() {
      await fixture.mgr(...one, "stop");
      await fixture[Symbol.asyncDispose]();
    },
  };
}

test("versions with and without mail were kept", () => {
  expect(kept.map(({ mail }) => mail !== null)).toEqual(expect.arrayContaining([true, false]));
});

test.each([
  { file: "queue.sqlite", migrations: gatewayMigrations, since: 1 },
  // Mail came with two migrations at once.
  { file: "index.sqlite", migrations: catalogMigrations, since: 2 },
  { file: "mailbox.sqlite", migrations: stateMigrations, since: 2 },
])(
  "every schema of $file before today's was kept (scripts/keep-release.ts)",
  ({ file, migrations, since }) => {
    const dumps = new Bun.Glob(`**/${file}.sql`).scanSync({ cwd: releasedFolder, absolute: true });
    const counts = [...dumps].map(
      (path) => readFileSync(path, "utf8").match(/^INSERT INTO "__migrations"/gm)?.length ?? 0,
    );
    const earlier = Array.from(
      { length: Math.max(0, migrations.length - since) },
      (_, index) => since + index,
    );
    expect(counts.length).toBeGreaterThan(0);
    expect(counts).toEqual(expect.arrayContaining(earlier));
  },
);

/** Whose machine went down: nothing of its queue is lost or typed once more. */
async function relaunchAgent({ name, requests }: Kept): Promise<void> {
  await using home = await homeOf(name);
  expect((await home.mgr("agents", "list", "--state", "all"))["agents"]).toContainEqual(
    expect.objectContaining({ agent_name: "worker", availability: "unavailable" }),
  );
  await home.mgr(...one, "relaunch");
  const status = await home.mgr(...one, "gateway", "status");
  expect(status).toMatchObject({ request_admission: "blocked_reconciliation" });
  const found = await home.requests();
  expect(found.map(lasting)).toEqual(requests.map(lasting));

  await home.mgr(...one, "gateway", "reconcile");
  const after = await home.requests();
  expect(ids(after)).toEqual(ids(requests));
  expect(after.map(lasting)).toEqual(expect.arrayContaining(requests.filter(isFinished).map(lasting)));
  expect(after.filter(isFinished)).toHaveLength(requests.length);

  expect(await home.mgr(...one, "prompt", "--prompt", "anew\nFAST", "--wait")).toMatchObject({
    success: true,
  });
  expect(ids(await home.requests())).toEqual([expect.any(String), ...ids(requests)]);
}

/** Of signed mail the names are not shown that its version did not sign. */
function withoutNames(message: Json): Json {
  if (message["attestation"] !== "verified") return message;
  const nameless = (one: Json) => ({ ...one, display_name: null });
  const { sender, to, cc } = message as { sender: Json; to: Json[]; cc: Json[] };
  return { ...message, sender: nameless(sender), to: to.map(nameless), cc: cc.map(nameless) };
}

/** It holds what it held, finds words in it, and takes more. */
async function useMailbox({ name, mail }: Kept): Promise<void> {
  await using home = await homeOf(name);
  const list = (...words: string[]) => home.mgr(...one, "mail", "list", ...words);
  const messages = async () => {
    const found = (await list())["messages"] as Json[];
    const numbers = found.map(({ number }) => number);
    expect(numbers).toEqual(found.map(() => expect.any(Number)));
    expect(new Set(numbers).size).toBe(found.length);
    // Its version told no numbers.
    return found.map(({ number: _, ...message }) => message);
  };
  // A version without keys signed nothing.
  const held = ((mail?.["messages"] ?? []) as Json[]).map((one) =>
    withoutNames({ attestation: "unsigned", ...one }),
  );
  const signed = held.filter(({ attestation }) => attestation === "verified").length;
  expect(await messages()).toEqual(held);
  expect(await list("--query", "noon")).toMatchObject({ message_count: 1 });
  const letter = ["--subject", "Another", "--body-content", "The bell rings at one."];
  await home.mgr(...one, "mail", "send", "--to", "worker@svc.localhost", ...letter);
  expect(await list("--query", "bell")).toMatchObject({ message_count: 2 });
  const [newest] = (await list())["messages"] as Json[];
  expect(newest?.["attestation"]).toBe("verified");
  expect(await home.mgr("mailbox", "verify")).toMatchObject({
    ok: true,
    histories: [expect.anything(), expect.objectContaining({ entry_count: signed + 1, broken: null })],
  });
  await home.mgr(...one, "mail", "archive", "--message-ref", String(newest?.["message_ref"]));
  expect(await messages()).toEqual(held);
}

const batch = ["agents", "single", "--agent-name", "batch"];

/** It has its turns, and takes another. */
async function takeTurn(version: Kept): Promise<void> {
  await using home = await homeOf(version.name);
  const asked = async () => (await home.mgr(...batch, "requests", "list"))["requests"] as Json[];
  await home.mgr(...batch, "relaunch", "--reconcile");
  expect((await asked()).map(lasting)).toEqual((version.headless ?? []).map(lasting));
  const prompt = ["prompt", "--prompt", "and the lighthouse", "--wait"];
  expect(await home.mgr(...batch, ...prompt)).toMatchObject({ success: true });
  expect(ids(await asked())).toEqual([expect.any(String), ...ids(version.headless ?? [])]);
  await home.mgr(...batch, "stop");
}

/** Another program, beside an agent that works on undisturbed: what waits in the queue is typed. */
async function followGateway({ name, requests }: Kept): Promise<void> {
  await using at = await launched();
  const before = await agentProcess(at);
  await withoutGateway(at, (queue) => {
    const { instance_id } = first(queue, "SELECT instance_id FROM gateway_instance");
    for (const end of ["", "-wal", "-shm"]) rmSync(`${queue}${end}`, { force: true });
    const session = join(releasedFolder, name, "state/runtime/sessions/local_interactive");
    const kept = join(session, readdirSync(session)[0] ?? "", "gateway/queue.sqlite.sql");
    load(queue, readFileSync(kept, "utf8"));
    change(queue, `UPDATE gateway_instance SET instance_id = '${instance_id}'`);
  });
  const waited = requests.filter((request) => !isFinished(request)).reverse();
  expect(waited.length).toBeGreaterThan(0);
  await until("the waiting prompts to be typed", () => at.heard().length === waited.length, 60_000);
  expect(at.heard()).toEqual(["first\nFAST", "second\nFAST"]);
  const now = (await at.type("agents single --agent-name worker requests list --json")).json();
  expect(ids(now["requests"] as Json[])).toEqual(ids(requests));
  expect(await agentProcess(at)).toBe(before);
}

const stories: { id: string; isOf(version: Kept): boolean; run(version: Kept): Promise<void> }[] = [
  {
    id: "its agent runs again",
    isOf: () => true,
    run: relaunchAgent,
  },
  {
    id: "its mailbox",
    isOf: ({ mail }) => mail !== null,
    run: useMailbox,
  },
  {
    id: "its headless agent",
    isOf: ({ headless }) => headless !== null,
    run: takeTurn,
  },
  {
    id: "its gateway is followed by this one",
    isOf: () => true,
    run: followGateway,
  },
];

await matrixTests({
  name: "what a version left",
  cases: () =>
    kept.flatMap((version) =>
      stories.filter((story) => story.isOf(version)).map((story) => ({ version, story })),
    ),
  toId: ({ version, story }) => `${version.name}, ${story.id}`,
  lanes: 2,
  timeoutMs: 300_000,
  run: ({ version, story }) => story.run(version),
});

test("an overlay of an earlier version is used once it is adopted, and a refusal says so", async () => {
  // The newest whose sessions lie in the overlay: a later one keeps them in the home.
  const { name } = kept.findLast(({ name }) =>
    existsSync(join(releasedFolder, name, "project/runtime")),
  ) as Kept;
  await using home = await homeOf(name, { adopted: false });
  const line = `run: svc-mgr overlay adopt ${join(home.fixture.workdir, ".svc")}`;
  for (const words of [
    [...one, "mail", "list"],
    ["mailbox", "status"],
    [...batch, "relaunch"],
  ]) {
    const refused = await home.fixture.mgr(...words);
    expect([words, refused.exitCode]).toEqual([words, 1]);
    expect(refused.stderr).toContain(line);
  }
  await home.mgr("overlay", "adopt");
  expect((await home.mgr(...one, "mail", "list"))["message_count"]).toBeGreaterThan(0);
}, 120_000);

const newer = "INSERT INTO __migrations VALUES (99, '0099_future', 'x', '2030-01-01T00:00:00.000+00:00')";
const advice = /sqlite was written by a newer svc \(migration 0099_future\).*; nothing was changed/;

describe("a database of a newer version", () => {
  test("is refused by a gateway, which changes nothing, and served again by the newer one", async () => {
    await using at = await launched();
    const before = await agentProcess(at);
    await at.type("agents single --agent-name worker gateway detach");
    const queue = join(at.sessionRoot, "gateway/queue.sqlite");
    change(queue, newer);
    const written = dump(queue);
    const refused = await at.type("agents single --agent-name worker gateway attach --json");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toMatch(advice);
    expect(dump(queue)).toBe(written);
    change(queue, "DELETE FROM __migrations WHERE idx = 99");
    const served = await at.type("agents single --agent-name worker gateway attach --json");
    expect([served.exitCode, served.stderr]).toEqual([0, ""]);
    expect(await agentProcess(at)).toBe(before);
  }, 120_000);

  test.each(["index.sqlite", "mailboxes/worker@svc.localhost/mailbox.sqlite"])(
    "is refused by a mailbox: %s",
    async (file) => {
      await using home = await homeOf(kept.findLast(({ mail }) => mail !== null)?.name ?? "");
      // First as this version writes it.
      await home.mgr(...one, "mail", "list");
      const path = join(home.mailbox, file);
      change(path, newer);
      const written = dump(path);
      for (const words of [
        [...one, "mail", "list"],
        ["mailbox", "repair", "--mailbox-root", home.mailbox],
      ]) {
        const refused = await home.fixture.mgr(...words);
        expect([words, refused.exitCode]).toEqual([words, 1]);
        expect(refused.stderr).toMatch(advice);
        expect(dump(path)).toBe(written);
      }
    },
    120_000,
  );
});

const isFinished = ({ state }: Json) => state === "completed" || state === "failed";

async function agentProcess(at: CliAgent): Promise<string> {
  return at.tmux("list-panes", "-t", `=${at.session}:0`, "-F", "#{pane_id} #{pane_pid}");
}

/** Stops the gateway beside a ready agent, lets `change` loose on its queue, and starts a gateway again. */
async function withoutGateway(at: CliAgent, change: (queue: string) => void): Promise<void> {
  await at.ready();
  await at.type("agents single --agent-name worker gateway detach");
  change(join(at.sessionRoot, "gateway/queue.sqlite"));
  const attach = await processes.run([executable, "mgr", ...one, "gateway", "attach"], {
    env: at.fixture.env,
    cwd: at.fixture.workdir,
    timeoutMs: 60_000,
  });
  expect([attach.exitCode, attach.stderr]).toEqual([0, ""]);
}

function first(path: string, sql: string): Json {
  using db = new Database(path);
  return db.query<Json, []>(sql).get() ?? {};
}

function change(path: string, sql: string): void {
  using db = new Database(path);
  db.run(sql);
}
