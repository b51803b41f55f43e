import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

/** A ready agent, and what it says that it was given. */
async function ready(fixture: CliFixture) {
  const log = join(fixture.folder, "agent.log");
  const svc = (line: string) => fixture.run("svc", line.split(" "));
  const made = await fixture.run("svc", ["new", "worker", "demo", "-w", "--", "--log", log]);
  expect([made.stderr, made.exitCode]).toEqual(["", 0]);
  const records = () => parseDemoLog(readFileSync(log, "utf8"));
  return {
    svc,
    heard: () => records().flatMap((one) => (one.kind === "submitted" ? [one.text] : [])),
    /** Begins a turn that only an interrupt ends. */
    async busy() {
      await svc("tell worker SLOW 600000");
      await until("the turn", () => records().some(({ kind }) => kind === "turn_started"));
    },
  };
}

interface Queue {
  requests: { number: number; prompt: string; request_id: string }[];
}

test("a person reads what waits, takes it back by its number, and learns why it waits", async () => {
  await using fixture = createCliFixture();
  const { svc, heard, busy } = await ready(fixture);
  await busy();
  const long = `second ${"word ".repeat(40)}end`;
  for (const text of ["first thing", long]) await svc(`tell worker ${text}`);

  const shown = await svc("queue worker");
  const [why, empty, header, ...rows] = shown.stdout.trimEnd().split("\n");
  expect([why, empty]).toEqual(["It works on a turn: svc log worker -f", ""]);
  expect(header).toMatch(/^NUMBER +FROM +SINCE +NOTE +TEXT$/);
  expect(rows).toEqual([
    expect.stringMatching(/^2 +a person +\ds +not ready +first thing$/),
    expect.stringMatching(/^3 +a person +\ds +queued +second word .*…$/),
  ]);
  expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(80);
  const { requests } = (await svc("queue worker --json")).json() as unknown as Queue;
  expect(requests.map(({ number, prompt }) => [number, prompt])).toEqual([
    [2, "first thing"],
    [3, long],
  ]);

  expect((await svc("drop worker")).exitCode).toBe(2);
  expect((await svc("drop worker 2 --all")).exitCode).toBe(2);
  for (let time = 0; time < 2; time++) {
    expect(await svc("drop worker 2")).toMatchObject({ exitCode: 0, stdout: "withdrew 2: first thing\n" });
  }
  const id = requests[0]?.request_id ?? "";
  const one = ["agents", "single", "--agent-name", "worker", "requests", "withdraw"];
  const byId = await fixture.mgr(...one, id, "--json");
  expect(byId.json()).toMatchObject({
    withdrawn: [{ number: 2, result_json: { outcome: "withdrawn", withdrawn_by: "person" } }],
    refused: [],
  });
  const refused = await svc("drop worker 1 99 3");
  expect([refused.exitCode, refused.stdout.trimEnd().split("\n")]).toEqual([
    1,
    [
      expect.stringMatching(/^withdrew 3: second word/),
      expect.stringMatching(/^not withdrawn: 1: gwreq-\S+ was given to the agent already/),
      "not withdrawn: 99: no request has the number 99",
    ],
  ]);
  expect((await svc("queue worker")).stdout).toBe("nothing waits\n");
  await svc("int worker");

  // A draft is the person's own reason.
  const session = (await fixture.sessions()).find((name) => name.startsWith("SVC-worker")) ?? "";
  await until("the end of the turn", async () =>
    (await svc("why worker")).stdout.startsWith('Nothing keeps it from a prompt: svc ask worker "..."'),
  );
  await fixture.tmux("send-keys", "-t", `=${session}:`, "-l", "--", "my own words");
  await until("the draft", async () =>
    (await svc("why worker")).stdout.startsWith("A draft of yours is in its composer: svc attach worker\n"),
  );
  const waiting = async () =>
    (await svc("attention list --json")).json()["items"] as { kind: string; command: string }[];
  expect(await waiting()).toEqual([]);
  await svc("tell worker behind it");
  const [item] = await until("the item", async () => {
    const items = await waiting();
    return items.length > 0 && items;
  });
  expect(item).toMatchObject({ kind: "draft" });
  expect((await svc("attention list")).stdout).toContain("svc attach worker");
  expect((await svc("queue worker")).stdout).toMatch(
    /^A draft of yours is in its composer: svc attach worker\n\n.*\n5 .* behind it\n$/,
  );
  expect((await svc("drop worker --all")).stdout).toBe("withdrew 5: behind it\n");
  expect(await waiting()).toEqual([]);
  expect(heard()).toEqual(["SLOW 600000"]);
}, 180_000);

test("what failed is submitted again once, after it was shown", async () => {
  await using fixture = createCliFixture();
  const { svc, heard, busy } = await ready(fixture);
  await busy();
  await svc("tell worker kept words");
  await svc("tell worker dropped words");
  await svc("drop worker 3");
  // The queue closes, as for a program that somebody else started in the pane.
  const relaunched = await fixture.mgr("agents", "single", "--agent-name", "worker", "relaunch");
  expect(relaunched.exitCode).toBe(0);

  const asked = await svc("fix worker --again");
  expect(asked.exitCode).toBe(1);
  expect(asked.stderr).toMatch(/^2 +a person .* failed +kept words$/m);
  expect(asked.stderr).not.toContain("dropped words");
  expect(asked.stderr).toContain("Submit this prompt again? Say so with --yes.");
  const { resubmitted } = (await svc("fix worker --again --yes --json")).json() as {
    resubmitted?: { request_id: string; of_request_id: string }[];
  };
  expect(resubmitted).toHaveLength(1);
  await until("the words", () => heard().includes("kept words"));
  expect(await svc("fix worker --again --yes")).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("nothing failed that was not submitted again"),
  });
  expect(await svc("fix worker --again 2 --yes")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("it was submitted again already: 2"),
  });
  expect((await svc("fix worker 2")).exitCode).toBe(2);
  const again = await fixture.mgr("agents", "single", "--agent-name", "worker", "requests", "resubmit");
  expect(again).toMatchObject({ exitCode: 0, stdout: "nothing failed that was not submitted again\n" });
  expect(heard().filter((text) => text === "kept words")).toHaveLength(1);
}, 180_000);
