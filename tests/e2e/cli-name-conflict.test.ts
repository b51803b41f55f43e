import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

const fixture = createCliFixture();
afterAll(() => fixture[Symbol.asyncDispose]());
const launch = () =>
  fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "again",
    "--gateway-background",
    "--json",
  );

test("a gateway whose tmux server died is ended when its name is launched again", async () => {
  const first = (await launch()).json();
  const instance = join(String(first["session_root"]), "gateway", "run", "current-instance.json");
  const { pid } = JSON.parse(readFileSync(instance, "utf8"));
  Bun.spawnSync(["tmux", "-S", fixture.socket, "-N", "kill-server"]);

  const second = await launch();
  expect([second.exitCode, second.json()["gateway_port"]]).toEqual([0, expect.any(Number)]);
  expect(fixture.alive(pid)).toBe(false);
  const listed = (await fixture.mgr("agents", "list", "--json")).json();
  expect(listed["agents"]).toMatchObject([
    { session_root: second.json()["session_root"], lifecycle_state: "active" },
  ]);
}, 120_000);

test("of two launches of one name at once one wins, and the other is shown where the agent is and how to end it", async () => {
  const launches = [1, 2].map(() =>
    fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "twice", "--no-gateway"),
  );
  const [winner, loser] = (await Promise.all(launches)).sort(
    (one, other) => Number(one.exitCode) - Number(other.exitCode),
  );
  expect([winner?.exitCode, loser?.exitCode]).toEqual([0, 1]);
  expect(loser?.stderr).toMatch(
    /agent "twice" already runs in tmux session SVC-twice-\d+\. Look at it with `tmux .*`\. End it with: svc-mgr .* twice stop$/m,
  );
  expect((await fixture.sessions()).filter((name) => name.startsWith("SVC-twice-"))).toHaveLength(1);
}, 120_000);

test("a name that another agent has in other letters is refused before anything is started", async () => {
  await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "Zoe", "--no-gateway");
  const before = await fixture.sessions();
  const refused = await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "zoe", "--json");
  expect([refused.exitCode, refused.error()]).toEqual([
    1,
    expect.objectContaining({
      error: "conflict",
      detail: expect.stringContaining("only in capital letters"),
    }),
  ]);
  expect(await fixture.sessions()).toEqual(before);
}, 120_000);
