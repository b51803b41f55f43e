import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { faultTest } from "../support/fault-table.ts";
import { json } from "../support/http-surface.ts";
import { until } from "../support/until.ts";

/** What lies outside every folder of ours. */
const outside = "what lies outside";

let fixture: CliFixture;
let coordinator: CoordServer;
let sessionRoot: string;

beforeAll(async () => {
  fixture = createCliFixture();
  writeFileSync(join(fixture.folder, "outside.md"), outside);
  const launched = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "batch",
    "--headless",
    "--mailbox",
    "--json",
  );
  sessionRoot = String(launched.json()["session_root"]);
  const turn = ["turn", "submit", "--turn-id", "one", "--prompt", "hello", "--wait"];
  expect((await fixture.mgr("agents", "single", "--agent-name", "batch", ...turn)).exitCode).toBe(0);
  coordinator = await startCoordinator(fixture);
}, 120_000);
afterAll(async () => {
  await coordinator[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

/** Everything below the fixture's folder but what running servers write of themselves. */
const names = () =>
  readdirSync(fixture.folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !/\.tmp$|-(?:wal|shm)$|\/coordinators\/|\/locks\//.test(name))
    .sort();

const ways = [
  "..",
  ".",
  "../one",
  "../../outside.md",
  "../../../../../../../../etc/passwd",
  "/etc/passwd",
  "one/../../..",
  "one\u0000",
  "one/",
  "%2e%2e",
  "..\\..",
  "~",
  "-",
  "a".repeat(5000),
  "\ud83d\ude00",
  "con\r\nx",
];

describe("ids and names that lead elsewhere", () => {
  // A URL that holds only dots for a name is another URL before it is sent.
  test.each(ways.filter((way) => !/^\.+$/.test(way)))(
    "%j is no turn and no agent: nothing is read there and nothing made",
    async (way) => {
      const before = names();
      const id = encodeURIComponent(way);
      for (const path of [
        `/svc/agents/batch/turns/${id}`,
        `/svc/agents/batch/turns/${id}/events`,
        `/svc/agents/batch/turns/${id}/artifacts/stdout`,
        `/svc/agents/batch/turns/${id}/artifacts/stderr`,
        `/svc/agents/${id}/state`,
        `/svc/agents/${id}/turns/one`,
      ]) {
        const reply = await coordinator.request(path);
        const text = await reply.text();
        expect([path, reply.status >= 400 && reply.status < 500]).toEqual([path, true]);
        expect(text.includes(outside) || text.includes("root:")).toBe(false);
      }
      expect(names()).toEqual(before);
    },
  );

  test.each(ways)("%j is no new turn's id, no message, no box and no address", async (way) => {
    const before = names();
    const mail = (route: string, body: object) =>
      coordinator.request(`/svc/agents/batch/mail/${route}`, json(body));
    const refusals = [
      await coordinator.request("/svc/agents/batch/turns", json({ prompt: "x", turn_id: way })),
      await mail("peek", { message_ref: way }),
      await mail("read", { message_ref: `filesystem:${way}` }),
      await mail("move", { message_refs: ["filesystem:none"], destination_box: way }),
      await mail("send", { to: [`${way}@svc.localhost`], subject: "x", body_content: "x" }),
      await mail("send", { to: [way], subject: "x", body_content: "x" }),
    ];
    const statuses = refusals.map(({ status }) => status);
    expect(statuses.every((status) => status === 404 || status === 422)).toBe(true);
    expect(names()).toEqual(before);
  });

  test.each(["../evil", "a/b", "..", "", "a\nb", "-x", "a".repeat(300)])(
    "%j is no name of an agent: nothing is made",
    async (name) => {
      const before = names();
      const run = await fixture.mgr("agents", "launch", "--tool", "demo", `--agent-name=${name}`);
      expect([1, 2]).toContain(run.exitCode ?? -1);
      expect(names()).toEqual(before);
    },
  );
});

describe("links in the place of what is ours", () => {
  faultTest(
    "of an attachment, of a turn's output and of the folder of turns are not followed",
    {
      area: "callers",
      fault:
        "A link to a file elsewhere takes the place of an attachment, of a turn's folder or of its output",
      outcome: "nothing is read or written behind it",
      seen: "422 for the attachment, 404 or an empty text for the turn",
      recovery: "put the file back",
    },
    async () => {
      const link = join(fixture.workdir, "link.md");
      symlinkSync(join(fixture.folder, "outside.md"), link);
      const attached = await coordinator.request(
        "/svc/agents/batch/mail/send",
        json({ to: ["batch@svc.localhost"], subject: "x", body_content: "x", attachments: [{ path: link }] }),
      );
      expect([attached.status, (await attached.text()).includes(outside)]).toEqual([422, false]);

      const turns = join(
        sessionRoot,
        readdirSync(sessionRoot).find((name) => name.endsWith("turn-artifacts")) ?? "",
      );
      const stolen = join(fixture.folder, "stolen");
      mkdirSync(stolen);
      writeFileSync(join(stolen, "stdout.jsonl"), outside);
      writeFileSync(join(stolen, "stderr.log"), outside);
      symlinkSync(stolen, join(turns, "two"));
      const output = join(turns, "one", "stdout.jsonl");
      renameSync(output, `${output}.kept`);
      symlinkSync(join(fixture.folder, "outside.md"), output);
      for (const id of ["one", "two"]) {
        const reply = await coordinator.request(`/svc/agents/batch/turns/${id}/artifacts/stdout`);
        expect([id, (await reply.text()).includes(outside)]).toEqual([id, false]);
      }
      rmSync(output);
      renameSync(`${output}.kept`, output);
      rmSync(join(turns, "two"));
    },
  );

  test.each(["manifest.json", "gateway/attach.json"])(
    "of a session's %s: a command refuses the agent, the server says nothing of what is behind it",
    async (name) => {
      const place = join(sessionRoot, name);
      const stolen = join(fixture.folder, "stolen.json");
      const text = JSON.stringify({ ...JSON.parse(readFileSync(place, "utf8")), working_directory: outside });
      writeFileSync(stolen, text);
      renameSync(place, `${place}.kept`);
      symlinkSync(stolen, place);
      try {
        for (const path of ["", "/state", "/state/detail", "/turns/one", "/gateway"]) {
          const answer = await (await coordinator.request(`/svc/agents/batch${path}`)).text();
          expect([path, answer.includes(outside)]).toEqual([path, false]);
        }
        const attach = await fixture.mgr("agents", "single", "--agent-name", "batch", "gateway", "attach");
        expect([attach.exitCode, attach.stderr]).toEqual([
          1,
          expect.stringContaining(`${name} is a symbolic link`),
        ]);
        expect(readFileSync(stolen, "utf8")).toBe(text);
      } finally {
        rmSync(place);
        renameSync(`${place}.kept`, place);
      }
      // The server hears of the change a moment later.
      await until(`the ${name} that was there`, async () => {
        return (await coordinator.request("/svc/agents/batch/turns/one")).status === 200;
      });
    },
  );

  test("behind a link in the place of a skill's folder nothing is written", async () => {
    const home = join(fixture.folder, "tool-home");
    const target = join(fixture.folder, "not-ours");
    mkdirSync(join(home, "skills"), { recursive: true });
    mkdirSync(target);
    const install = ["system-skills", "install", "--tool", "claude", "--home", home];
    expect((await fixture.mgr(...install)).exitCode).toBe(0);
    const [skill] = readdirSync(join(home, "skills"));
    const place = join(home, "skills", skill ?? "");
    rmSync(place, { recursive: true });
    symlinkSync(target, place);
    await fixture.mgr(...install);
    expect(readdirSync(target)).toEqual([]);
  });
});
