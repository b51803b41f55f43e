import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

const launch = (tool: string, name: string) => [
  "agents",
  "launch",
  "--tool",
  tool,
  "--agent-name",
  name,
  "--no-gateway",
];
const clean = ["--force", "clean", "--json"];

/** Launches that can never be, each told to take the place of the agent `worker`. */
const refusals: { id: string; words: string[]; says: string }[] = [
  {
    id: "into a folder that is not there",
    words: [...launch("demo", "worker"), "--workdir", "nowhere", ...clean],
    says: "does not exist",
  },
  {
    id: "of a tool that is not installed",
    words: [...launch("kimi", "worker"), ...clean],
    says: "is not on PATH",
  },
  {
    id: "with a role that the tool does not take",
    words: [...launch("demo", "worker"), "--role-file", "role.md", ...clean],
    says: "takes no role in a terminal",
  },
  {
    id: "into a session that has no such name",
    words: [...launch("demo", "worker"), "--session-name", "a b", ...clean],
    says: "not a session name",
  },
  {
    id: "into a session of the person's",
    words: [...launch("demo", "worker"), "--session-name", "mine", ...clean],
    says: "tmux session mine exists already",
  },
  {
    id: "under the id of another agent",
    words: [...launch("demo", "worker"), "--agent-id", "another", ...clean],
    says: 'agent \\"other\\" already runs',
  },
];

test("a launch that cannot be costs nobody the agent whose place it was to take", async () => {
  await using fixture = createCliFixture();
  writeFileSync(join(fixture.workdir, "role.md"), "You review harbors.\n");
  const made = (await fixture.mgr(...launch("demo", "worker"), "--json")).json();
  await fixture.mgr(...launch("demo", "other"), "--agent-id", "another");
  await fixture.startSession("mine", ["cat"]);
  for (const { id, words, says } of refusals) {
    const refused = await fixture.mgr(...words);
    expect({ id, refused: refused.exitCode !== 0, stdout: refused.stdout }).toEqual({
      id,
      refused: true,
      stdout: "",
    });
    expect({ id, stderr: refused.stderr }).toEqual({ id, stderr: expect.stringContaining(says) });
    expect({ id, sessions: await fixture.sessions() }).toEqual({
      id,
      sessions: expect.arrayContaining([String(made["tmux_session_name"])]),
    });
    expect({ id, files: existsSync(String(made["session_root"])) }).toEqual({ id, files: true });
  }
}, 120_000);

test("a launch takes the session of the agent whose place it takes", async () => {
  await using fixture = createCliFixture();
  const named = [...launch("demo", "worker"), "--session-name", "mine"];
  await fixture.mgr(...named);
  const again = await fixture.mgr(...named, ...clean);
  expect(again).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await fixture.sessions()).toEqual(["mine"]);
}, 120_000);
