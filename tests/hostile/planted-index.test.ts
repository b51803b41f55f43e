import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

const executable = join(import.meta.dir, "../../dist/svc-gateway");

/** A project whose mailbox index asks to remove, or to put away, a folder beside the project. */
function planted() {
  const fixture = createCliFixture({ executable });
  const precious = join(fixture.folder, "precious");
  const diary = join(precious, "inner/diary.md");
  mkdirSync(join(precious, "inner"), { recursive: true });
  writeFileSync(diary, "dear diary");
  return {
    fixture,
    plant() {
      const index = new Database(join(fixture.workdir, ".svc/mailbox/index.sqlite"));
      const insert = index.prepare(
        "INSERT INTO pending_artifacts (action, path, destination) VALUES (?, ?, ?)",
      );
      insert.run("remove", "../../../precious", null);
      insert.run("rename", "../../../precious/inner", "mailboxes/inner");
      index.close();
    },
    untouched() {
      expect(readdirSync(precious)).toEqual(["inner"]);
      expect(readFileSync(diary, "utf8")).toBe("dear diary");
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

const says = 'asked to remove "../../../precious", which is no mailbox of it: refused and dropped';

test("`mailbox init` and a launch with a mailbox refuse what a planted index asks for, once", async () => {
  await using at = planted();
  const { fixture } = at;
  expect((await fixture.mgr("mailbox", "init")).exitCode).toBe(0);
  at.plant();
  const init = await fixture.mgr("mailbox", "init");
  expect([init.exitCode, init.stderr]).toEqual([expect.any(Number), expect.stringContaining(says)]);
  expect(init.exitCode).not.toBe(0);
  at.untouched();
  expect((await fixture.mgr("mailbox", "init")).exitCode).toBe(0);

  at.plant();
  const launch = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "worker",
    "--mailbox",
  );
  expect(launch.exitCode).not.toBe(0);
  expect(launch.stdout).toContain(`it has no mailbox: `);
  expect(launch.stdout).toContain(says);
  at.untouched();
}, 120_000);

test("a live gateway refuses it at the next mail call, and answers the one after that", async () => {
  await using at = planted();
  const { fixture } = at;
  const launch = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "worker",
    "--mailbox",
    "--json",
  );
  expect(launch.exitCode).toBe(0);
  at.plant();
  const list = () =>
    fetch(`${launch.json()["gateway_base_url"]}/v1/mail/list`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
  const refused = await list();
  expect([refused.status, await refused.json()]).toEqual([502, { detail: expect.stringContaining(says) }]);
  at.untouched();
  expect((await list()).status).toBe(200);
  at.untouched();
}, 120_000);
