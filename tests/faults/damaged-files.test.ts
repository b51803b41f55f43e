import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CliFixture, CliRun } from "../support/cli-fixture.ts";
import {
  alive,
  copyOf,
  type Damage,
  damages as damageOf,
  everyDamage,
  inTurns,
  overlook,
  type Reported,
  toldMail,
  toldRequest,
  toldStatus,
} from "../support/damaged-files.ts";
import {
  coordinatorRows,
  type Difference,
  type FileRow,
  fileRows,
  fine,
  offline,
  turnRows,
} from "../support/damaged-rows.ts";
import { faultTest } from "../support/fault-table.ts";
import { chooseCases, matrixChoice } from "../support/matrix.ts";
import { createSickFixture, launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

/**
 * Every file that `docs/how-it-works.md` lists, damaged in every way, under a gateway that runs and without
 * one. Status, admission, list, doctor and exit codes say what is so: admission is `open` exactly while a
 * request is taken. Each file has an agent of its own, so that all of them are damaged at once and two
 * commands tell of all.
 */

interface Case {
  row: FileRow;
  agent: SickAgent;
  path: string;
  /** Of the one message in its inbox. */
  messageRef: string;
}

interface Seen {
  live: Map<FileRow, Reported | string>;
  offline: Map<FileRow, Reported | string>;
  attach: Map<FileRow, CliRun | undefined>;
  wrongExits: string[];
}

let fixture: CliFixture;
let cases: Case[] = [];
const agentIds = new Map<SickAgent, string>();

async function openFixture(rows: readonly FileRow[]): Promise<void> {
  fixture = createSickFixture();
  const stateRoot = join(fixture.env["HOME"] ?? "", ".local/state/svc");
  cases = await inTurns(rows, (row) => openCase(row, stateRoot));
}

async function openCase(row: FileRow, stateRoot: string): Promise<Case> {
  const name = `of-${row.file.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`
    .replace(/-+$/, "")
    .replace("--", "-");
  const mailRoot = join(fixture.folder, "mail", name);
  const project = join(fixture.folder, "projects", name);
  const overlay = join(project, ".svc");
  // Sessions lie in a project that has the folder for them.
  mkdirSync(join(overlay, "runtime"), { recursive: true, mode: 0o700 });
  if (row.overlay) expect((await fixture.mgr("overlay", "adopt", overlay)).exitCode).toBe(0);
  const agent = await launchSick({
    fixture,
    name,
    env: row.env ?? {},
    agentFlags: row.agentFlags ?? [],
    flags: ["--mailbox-root", mailRoot],
    cwd: row.overlay ? project : fixture.workdir,
  });
  const { agent_id: agentId } = JSON.parse(readFileSync(agent.paths.manifest, "utf8")) as {
    agent_id: string;
  };
  agentIds.set(agent, agentId);
  const report = join(row.overlay ? project : fixture.workdir, "report.txt");
  writeFileSync(report, "the report that is attached");
  const mail = {
    to: [`${name}@svc.localhost`],
    subject: "s",
    body_content: "b",
    schema_version: 1,
    attachments: [{ path: report }],
  };
  expect((await agent.ask("/v1/mail/send", mail)).status).toBe(200);
  const reminders = [
    { title: "later", mode: "one_off", prompt: "p", ranking: 0, start_after_seconds: 86_400 },
  ];
  expect((await agent.ask("/v1/reminders", { reminders })).status).toBe(200);
  const { body } = await agent.ask("/v1/mail/list", { schema_version: 1, box: "inbox" });
  const [message] = body["messages"] as { message_ref: string }[];
  const path = row.path({ agent, agentId, mailRoot, stateRoot, overlay });
  return { row, agent, path, messageRef: message?.message_ref ?? "" };
}

async function closeFixture(): Promise<void> {
  await inTurns(cases, ({ agent }) => ended(agent));
  await fixture[Symbol.asyncDispose]();
}

async function attached(agent: SickAgent): Promise<void> {
  await until(`${agent.name} in good order`, async () => {
    // A loaded machine may need longer than an attach waits.
    if (!alive(agent) && (await agent.attach()).exitCode !== 0) return null;
    // One that is just ending still has its process.
    const answer = await agent.ask("/v1/status").catch(() => null);
    return answer?.body["request_admission"] === "open";
  });
}

/** A loaded machine may need longer than an attach waits. */
async function attachInTime(agent: SickAgent, want: number): Promise<CliRun> {
  for (let attempt = 1; ; attempt++) {
    const run = await agent.attach();
    const late = run.exitCode !== want && run.stderr.includes("was not healthy within");
    if (!late || attempt === 3) return run;
  }
}

async function ended(agent: SickAgent): Promise<void> {
  if (alive(agent)) await agent.killGateway("SIGTERM");
}

/** All that is told of all agents; a prompt is asked for last, since what it changes is written down. */
async function told(
  want: (row: FileRow) => Reported,
): Promise<{ seen: Map<FileRow, Reported | string>; wrongExits: string[] }> {
  const statuses = await inTurns(cases, async ({ row, agent }) => {
    let status = "";
    await until(
      "what is to be told",
      async () => {
        status = await toldStatus(agent);
        return status === want(row).status;
      },
      // A gateway that is told of no change looks every 10 s: so long a command is asked now and then.
      20_000,
      500,
    ).catch(() => {});
    return status;
  });
  const { listOf, doctorOf, wrongExits } = await overlook(fixture);
  const mails = await inTurns(cases, ({ agent, messageRef }) => toldMail(agent, messageRef));
  const requests = await inTurns(cases, ({ agent }) => toldRequest(agent));
  const seen = new Map(
    cases.map(({ row, agent }, at) => {
      const id = agentIds.get(agent) ?? "";
      const list = listOf(agent, id);
      return [
        row,
        {
          status: statuses[at] ?? "",
          request: requests[at] ?? "",
          mail: mails[at] ?? "",
          list,
          doctor: doctorOf(agent, id),
        },
      ];
    }),
  );
  return { seen, wrongExits };
}

/** The files as they are; what only a killed gateway leaves, or a rare command makes, is there too. */
function copyAll(chosen: readonly Case[]): { restore(): void }[] {
  return chosen.map(({ path }) => {
    const copy = copyOf(path);
    if (!existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, "{}", { mode: 0o600 });
    }
    return copy;
  });
}

async function underGateways(damage: Damage) {
  const restarted = cases.filter(({ row }) => row.restart);
  const others = cases.filter(({ row }) => !row.restart);
  await inTurns(restarted, ({ agent }) => ended(agent));
  const kept = copyAll(restarted);
  await inTurns(cases, ({ agent }) => attached(agent));
  const copies = copyAll(others);
  try {
    for (const { path } of cases) damageOf[damage](path);
    return await told((row) => expected(row, "live", damage));
  } finally {
    await inTurns(cases, async ({ row, agent, path }) => {
      if (row.restart) await ended(agent);
      if (row.live !== "ends") return;
      await until("the end of a gateway that nobody finds", () => !alive(agent));
      rmSync(path, { recursive: true, force: true });
    });
    for (const copy of [...kept, ...copies.filter((_, at) => others[at]?.row.live !== "ends")])
      copy.restore();
  }
}

async function withoutGateways(damage: Damage) {
  await inTurns(cases, ({ agent }) => attached(agent));
  // Work that waits without a gateway is a problem of its own.
  await inTurns(cases, ({ agent }) =>
    until("the end of its requests", async () => (await agent.ask("/v1/status")).body["queue_depth"] === 0),
  );
  await inTurns(cases, ({ agent }) => ended(agent));
  const copies = copyAll(cases);
  try {
    for (const { path } of cases) damageOf[damage](path);
    const result = await told((row) => expected(row, "offline", damage));
    const attaches = await inTurns(cases, ({ row, agent }) => attachInTime(agent, row.attach?.[damage] ?? 0));
    return { ...result, attach: new Map(cases.map(({ row }, at) => [row, attaches[at]])) };
  } finally {
    await inTurns(cases, ({ agent }) => ended(agent));
    for (const copy of copies) copy.restore();
  }
}

function expected(row: FileRow, where: "live" | "offline", damage: Damage): Reported {
  if (where === "live" && row.live !== "ends") return differing(fine, row.live, damage);
  const want = differing(offline, row.offline, damage);
  // An agent without a gateway takes no work.
  return want.doctor === "ok" ? { ...want, doctor: "warning" } : want;
}

function differing(base: Reported, { but, ...every }: Difference, damage: Damage): Reported {
  return { ...base, ...every, ...but?.[damage] };
}

/** So few that one look at all of them is answered in time on a loaded machine. */
const perGroup = 6;

interface Pair {
  row: FileRow;
  damage: Damage;
}

/**
 * Each damage of a group has one start and one look for all of its files. A sample is some files with one
 * damage: the start of their gateways is what a case costs.
 */
function chooseGroups(): { nth: number; rows: FileRow[]; damages: Damage[] }[] {
  const pairs = fileRows.flatMap((row) => everyDamage.map((damage): Pair => ({ row, damage })));
  const toId = ({ row, damage }: Pair) => `${row.file}, ${damage}`;
  const [first] = chooseCases(pairs, toId, matrixChoice);
  const isSample = matrixChoice.sample !== null && first !== undefined;
  const chosen = isSample
    ? chooseCases(
        pairs.filter(({ damage }) => damage === first.damage),
        toId,
        matrixChoice,
      )
    : chooseCases(pairs, toId, matrixChoice);
  const rows = fileRows.filter((row) => chosen.some((pair) => pair.row === row));
  const damages = everyDamage.filter((damage) => chosen.some((pair) => pair.damage === damage));
  return Array.from({ length: Math.ceil(rows.length / perGroup) }, (_, at) => ({
    nth: at + 1,
    rows: rows.slice(at * perGroup, (at + 1) * perGroup),
    damages,
  }));
}

describe.each(chooseGroups())("files of sessions and mailboxes, group $nth", ({ rows, damages }) => {
  beforeAll(() => openFixture(rows), 240_000);
  afterAll(closeFixture, 240_000);

  describe.each(damages)("one that is %s", (damage) => {
    const seen: Seen = { live: new Map(), offline: new Map(), attach: new Map(), wrongExits: [] };
    beforeAll(async () => {
      const live = await underGateways(damage);
      const without = await withoutGateways(damage);
      Object.assign(seen, {
        live: live.seen,
        offline: without.seen,
        attach: without.attach,
        wrongExits: [...live.wrongExits, ...without.wrongExits],
      });
    }, 240_000);

    test.each(rows)("$file is reported by a gateway that runs", (row) => {
      const found = seen.live.get(row) as Reported;
      const want = expected(row, "live", damage);
      expect(found).toEqual(row.rewritten ? { ...want, doctor: found.doctor } : want);
    });

    test.each(rows)("$file is reported without a gateway, and by what starts one", (row) => {
      expect(seen.offline.get(row)).toEqual(expected(row, "offline", damage));
      const attach = seen.attach.get(row);
      expect([attach?.exitCode ?? "none", attach?.stderr]).toEqual([
        row.attach?.[damage] ?? 0,
        expect.anything(),
      ]);
      // No fault is shown as the system's own words.
      expect(attach?.stderr).not.toMatch(/illegal operation|internal error|SQLITE|database is|\n\s+at /);
    });

    test("the commands end as what they print", () => expect(seen.wrongExits).toEqual([]));
  });
});

faultTest(
  "covers every file that the documentation lists",
  {
    area: "files",
    fault: "Any file of a session is deleted, emptied, cut off, overwritten or replaced by a folder",
    outcome: "the gateway says `open` exactly while it takes requests; what can be derived is written again",
    seen: "`admission_block` in the status, `problem` in `agents list`, and `doctor` with exit 1 where the damage keeps an agent from working; an agent that only lacks its gateway or its session gets `look`, exit 0, and is named in the last line",
    recovery: "a copy of the file in its place, or the step that `doctor` names",
  },
  () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/how-it-works.md"), "utf8");
    const table = page.slice(page.indexOf("| file | holds |"), page.indexOf("## Settings"));
    const listed = [...table.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.split("/").at(-1) ?? ""),
    );
    expect(listed.length).toBeGreaterThan(25);
    const covered = [...fileRows, ...turnRows, ...coordinatorRows].map(({ file }) => file.split("/").at(-1));
    // tests/faults/damaged-files-turns.test.ts, tests/faults/damaged-files-deliveries.test.ts
    covered.push("launch-environment.json", "deliveries.sqlite");
    // Written as a turn begins, and read by no program of ours: tests/integration/headless/bridge.test.ts
    covered.push("prompt.txt");
    // tests/faults/damaged-files-acp.test.ts
    covered.push("host.json", "host.lock", "next.json", "question.json", "answer.json", "interrupt.json");
    expect(listed.filter((name) => !covered.includes(name))).toEqual([]);
    // And the other way round: a file of the table is one that the documentation names.
    expect(covered.filter((name) => !listed.includes(name ?? ""))).toEqual([]);
  },
);
