import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alive, ask, copyOf, type Damage, damages, type Told, toldStatus } from "../support/damaged-files.ts";
import { faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

/**
 * Every file that `docs/how-it-works.md` lists, damaged in every way, under a gateway that runs and without one. Status,
 * admission, list, doctor and exit codes say what is so: admission is `open` exactly while a request is taken.
 */

const open = "healthy/connected/open";
const closed = "not_attached/unavailable/blocked_unavailable";

const fine: Told = { status: open, request: "202", list: "listed", doctor: "ok 0" };
const offline: Told = { status: closed, request: "none", list: "listed", doctor: "ok 0" };
const noticed = { doctor: "warning 0" };
const broken = { doctor: "damaged 1" };

type Part = Partial<Told>;
/** What differs from an agent in good order: for every damage, then for single ones. */
type Difference = Part & { but?: Partial<Record<Damage, Part>> };

interface Row {
  /** As the documentation names it. */
  file: string;
  path: (agent: SickAgent) => string;
  /** Without it the file is as good as absent. */
  live: Difference | "ends";
  offline: Difference;
  /** What a gateway that is started then comes to; 0 where nothing is said. */
  attach?: Partial<Record<Damage, number>>;
  /** Only a new gateway works with the file that was put back. */
  restart?: true;
  /** A gateway that runs may have written it again before `doctor` looks. */
  rewritten?: true;
}

const inState = (agent: SickAgent, pattern: string) =>
  globSync(join(agent.lab.folder, "home/.local/state/svc", pattern))[0] ?? "";
const derived = { ...noticed, but: { deleted: { doctor: "ok 0" } } };
const text = { but: { "a folder": broken } };
const unusable = (damage: string) => `blocked_unavailable/database_${damage}`;
const lostLive = { status: `healthy/connected/${unusable("lost")}` };
const noManifest = { request: "503", status: "healthy/unavailable/blocked_unavailable/manifest_unusable" };

const rows: Row[] = [
  {
    file: "manifest.json",
    path: ({ paths }) => paths.manifest,
    live: { ...noManifest, list: "problem", ...broken },
    offline: { status: "exit 1", list: "problem", ...broken },
    attach: { deleted: 1, emptied: 1, cut: 1, garbage: 1, "not JSON": 1, "a folder": 1 },
  },
  {
    file: "queue.sqlite",
    path: ({ paths }) => paths.queue,
    live: {
      status: `healthy/connected/${unusable("damaged")}`,
      request: "503",
      list: "problem",
      ...broken,
      but: { deleted: lostLive, "a folder": lostLive },
    },
    offline: {
      status: `not_attached/unavailable/${unusable("damaged")}`,
      list: "problem",
      ...broken,
      but: {
        deleted: { status: `not_attached/unavailable/${unusable("lost")}` },
        "a folder": { status: `not_attached/unavailable/${unusable("unusable")}` },
      },
    },
    attach: { cut: 3, garbage: 3, "not JSON": 3, "a folder": 3 },
    restart: true,
  },
  {
    file: "desired-config.json",
    path: ({ paths }) => paths.desiredConfig,
    live: { ...broken, but: { deleted: { doctor: "ok 0" } } },
    offline: { ...broken, but: { deleted: { doctor: "ok 0" } } },
    attach: { emptied: 3, cut: 3, garbage: 3, "not JSON": 3, "a folder": 3 },
  },
  {
    file: "state.json",
    path: ({ paths }) => paths.state,
    live: derived,
    offline: derived,
    rewritten: true,
  },
  {
    file: "attach.json",
    path: ({ paths }) => paths.attach,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: "gateway_manifest.json",
    path: ({ paths }) => paths.gatewayManifest,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: "events.jsonl",
    path: ({ paths }) => paths.events,
    live: text,
    offline: text,
  },
  {
    file: "gateway.log",
    path: ({ paths }) => paths.gatewayLog,
    live: text,
    offline: text,
    attach: { "a folder": 1 },
  },
  {
    file: "current-instance.json",
    path: ({ paths }) => paths.currentInstance,
    live: "ends",
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: "index.sqlite",
    path: () => join(mailRoot, "index.sqlite"),
    live: { ...broken, but: { emptied: noticed } },
    offline: { ...broken, but: { emptied: noticed } },
    restart: true,
  },
  {
    file: "mailbox.sqlite",
    path: () => join(mailRoot, "mailboxes/worker@svc.localhost/mailbox.sqlite"),
    live: { ...broken, but: { deleted: { doctor: "ok 0" }, emptied: { doctor: "ok 0" } } },
    offline: { ...broken, but: { deleted: { doctor: "ok 0" }, emptied: { doctor: "ok 0" } } },
    restart: true,
  },
  { file: "last-port", path: ({ paths }) => paths.lastPort, live: text, offline: text },
  {
    file: "record.json",
    path: (agent) => inState(agent, "registry/live_agents/*/record.json"),
    live: { list: "ignored", ...noticed },
    offline: { status: "exit 1", list: "ignored", ...noticed },
    attach: { deleted: 1, emptied: 1, cut: 1, garbage: 1, "not JSON": 1, "a folder": 1 },
  },
];

function expected(base: Told, difference: Difference, damage: Damage): Told {
  const { but, ...all } = difference;
  return { ...base, ...all, ...but?.[damage] };
}

const mailRoot = mkdtempSync(join(tmpdir(), "svc-mail-"));
let agent: SickAgent;
beforeAll(async () => {
  agent = await launchSick({ flags: ["--mailbox-root", mailRoot] });
  const mail = { to: ["worker@svc.localhost"], subject: "s", body_content: "b", schema_version: 1 };
  expect((await agent.ask("/v1/mail/send", mail)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  rmSync(mailRoot, { recursive: true });
});

async function attached(): Promise<void> {
  if (!alive(agent)) expect(await agent.attach()).toMatchObject({ exitCode: 0 });
  await until("an agent in good order", async () => {
    const { body } = await agent.ask("/v1/status");
    return body["request_admission"] === "open";
  });
}

async function ended(): Promise<void> {
  if (alive(agent)) await agent.killGateway("SIGTERM");
}

describe.each(rows)("$file", (row) => {
  for (const damage of Object.keys(damages) as Damage[]) {
    test(`that is ${damage} is told of by a gateway that runs`, async () => {
      await attached();
      const path = row.path(agent);
      if (row.restart) await ended();
      const copy = copyOf(path);
      if (row.restart) await attached();
      try {
        damages[damage](path);
        if (row.live === "ends") {
          await until("the end of a gateway that nobody finds", () => !alive(agent));
          expect(await ask(agent)).toEqual(expected(offline, row.offline, damage));
          return;
        }
        const want = expected(fine, row.live, damage);
        await until("what is to be told", async () => (await toldStatus(agent)) === want.status, 15_000);
        const told = await ask(agent);
        expect(told).toEqual(row.rewritten ? { ...want, doctor: told.doctor } : want);
      } finally {
        if (row.restart) await ended();
        if (row.live === "ends") rmSync(path, { recursive: true, force: true });
        else copy.restore();
      }
      await attached();
    }, 120_000);

    test(`that is ${damage} is told of without a gateway`, async () => {
      await attached();
      await ended();
      const path = row.path(agent);
      const copy = copyOf(path);
      // What a killed gateway leaves is as good as what it wrote.
      if (!existsSync(path)) writeFileSync(path, "{}");
      try {
        damages[damage](path);
        const { request: _, ...want } = expected(offline, row.offline, damage);
        const { request: __, ...told } = await ask(agent);
        expect(told).toEqual(want);
        const attach = await agent.attach();
        expect([damage, attach.exitCode]).toEqual([damage, row.attach?.[damage] ?? 0]);
        // No fault is shown as the system's own words.
        expect(attach.stderr).not.toMatch(/illegal operation|internal error|\n\s+at /);
      } finally {
        await ended();
        copy.restore();
      }
    }, 120_000);
  }
});

faultTest(
  "covers every file that the documentation lists",
  {
    area: "files",
    fault: "Any file of a session is deleted, emptied, cut off, overwritten or replaced by a folder",
    outcome: "the gateway says `open` exactly while it takes requests; what can be derived is written again",
    seen: "`admission_block` in the status, `problem` in `agents list`, and `doctor` with exit 1 where an agent cannot work",
    recovery: "a copy of the file in its place, or the step that `doctor` names",
  },
  () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/how-it-works.md"), "utf8");
    const table = page.slice(page.indexOf("| file | holds |"), page.indexOf("## Settings"));
    const listed = [...table.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.split("/").at(-1) ?? ""),
    );
    expect(listed.length).toBeGreaterThan(10);
    const elsewhere = {
      "": "turn artifacts: tests/faults/turns-killed.test.ts",
      token: "tests/e2e/cli-gateway.test.ts",
      "<id>.md": "tests/integration/mail/lost-files.test.ts",
      "reports.jsonl": "tests/unit/signals/spool-source.test.ts",
      "cursor.json": "tests/unit/signals/spool-source.test.ts",
      "claude-settings.json": "tests/unit/signals/handover.test.ts: written at each start",
      "opencode-plugin.js": "tests/unit/signals/handover.test.ts: written at each start",
      "opencode.json": "tests/unit/signals/handover.test.ts: written at each start",
    };
    const covered = [...rows.map(({ file }) => file), ...Object.keys(elsewhere)];
    expect(listed.filter((name) => !covered.includes(name))).toEqual([]);
  },
);
