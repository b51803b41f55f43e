import { expect, test } from "bun:test";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

/** A line of such a name could be read as one of ours. */
const hostileName = "ev\x1b[31mil\x07\nzz adopted by svc";

test("no message about trust has a line or a control character of a folder's name", async () => {
  await using fixture = createCliFixture();
  const project = join(fixture.folder, hostileName);
  for (const name of ["mailbox", "runtime"]) mkdirSync(join(project, ".svc", name), { recursive: true });
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "w", "--no-gateway", "--headless"];
  const commands = [
    ["mailbox", "status"],
    [...launch],
    ["doctor"],
    ["overlay", "status"],
    ["overlay", "forget"],
    ["overlay", "adopt"],
    ["overlay", "adopt", "absent"],
    ["overlay", "list"],
    ["overlay", "forget"],
  ];
  const shown: string[] = [];
  const run = async (words: string[]) => {
    const { stdout, stderr } = await fixture.run("svc-mgr", words, { cwd: project });
    const text = `${stdout}${stderr}`;
    expect([words, text.match(/^\s*zz.*/m), text.match(/[^\P{Cc}\n]/u)]).toEqual([words, null, null]);
    shown.push(text);
  };
  for (const words of commands) await run(words);
  chmodSync(project, 0o777);
  for (const words of [
    ["mailbox", "status"],
    ["overlay", "adopt"],
  ])
    await run(words);
  expect(shown.filter((text) => text.includes("ev\\u001b[31mil\\u0007 zz")).length).toBeGreaterThan(7);
  // The command to copy means the folder itself.
  expect(shown[0]).toContain(
    `run: svc-mgr overlay adopt $'${fixture.folder}/ev\\x1b[31mil\\x07\\x0azz adopted`,
  );
}, 120_000);
