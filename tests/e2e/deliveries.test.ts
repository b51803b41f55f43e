import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Delivery, DeliveryBody } from "../../src/protocol/delivery.ts";
import { createBuiltFixture } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const dist = join(import.meta.dir, "../../dist");

function writeRules(fixture: CliFixture, ...lines: string[]): string {
  const folder = join(fixture.env["HOME"] ?? "", ".config/svc");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "deliveries.yaml");
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o600 });
  return path;
}

async function run(fixture: CliFixture, ...words: string[]) {
  const done = await fixture.mgr(...words);
  if (done.exitCode !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}${done.stdout}`);
  return done;
}

test("a question runs the command of a rule once, and later servers do not repeat it", async () => {
  await using fixture = createBuiltFixture(dist);
  const got = join(fixture.folder, "got.ndjson");
  writeRules(
    fixture,
    "version: 1",
    "rules:",
    "  desk:",
    "    reasons: [question]",
    "    include: [options]",
    `    command: { argv: [sh, -c, 'cat >> "$0"; echo thanks', ${got}] }`,
  );
  const shown = (await run(fixture, "attention", "rules")).stdout;
  expect(shown).toContain("desk");
  expect((await run(fixture, "attention", "deliveries")).stdout).toBe("nothing was to be delivered\n");

  const tested = await run(fixture, "attention", "deliver-test", "desk");
  expect(tested.stdout).toBe("command: exit status 0\nthanks\n");
  const bodies = () =>
    existsSync(got)
      ? readFileSync(got, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as DeliveryBody)
      : [];
  expect(bodies()).toMatchObject([{ type: "attention.test", data: { rule: "desk" } }]);
  const unknown = await fixture.mgr("attention", "deliver-test", "dekk");
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('did you mean "desk"?')]);

  const launch = [
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "asker",
    "--gateway-background",
    "--json",
  ];
  const launched = (await run(fixture, ...launch)).json() as Record<string, string>;
  await using at = await startCoordinator(fixture);
  await run(
    fixture,
    "agents",
    "single",
    "--agent-name",
    "asker",
    "prompt",
    "--prompt",
    "MENU Delete it all?",
  );
  const delivered = await until("the delivery", async () => {
    const { deliveries } = (await at.ask("/svc/attention/deliveries")).body as { deliveries: Delivery[] };
    return deliveries[0]?.state === "delivered" && deliveries;
  });
  expect(delivered).toMatchObject([{ rule: "desk", target: "command", attempts: 1, last_error: null }]);
  expect(bodies()[1]).toMatchObject({
    type: "attention",
    data: {
      delivery_id: delivered[0]?.delivery_id,
      items: [
        {
          agent: "asker",
          reason: "question",
          question: "Delete it all?",
          options: ["Yes", "No", "Always"].map((label, index) => ({ answer: `${index + 1}`, label })),
        },
      ],
    },
  });
  expect(JSON.stringify(delivered)).not.toContain("Delete it all");

  // A gateway that is killed and started again shows the same question.
  const instance = join(launched["session_root"] ?? "", "gateway/run/current-instance.json");
  fixture.kill((JSON.parse(readFileSync(instance, "utf8")) as { pid: number }).pid);
  const kinds = async () =>
    ((await at.ask("/svc/attention")).body["items"] as { kind: string }[]).map(({ kind }) => kind);
  await until("the dead gateway", async () => (await kinds()).join() === "dead_gateway");
  await run(fixture, "agents", "single", "--agent-name", "asker", "gateway", "attach");
  await until("the question again", async () => (await kinds()).join() === "question");

  // The same from the command line, while the server writes the file; a second server, and the next one, send
  // nothing.
  await using second = await startCoordinator(fixture);
  at.signal("SIGKILL");
  await at.exited;
  const id = delivered[0]?.items[0]?.id ?? "";
  await run(fixture, "attention", "answer", id, "no");
  await run(fixture, "agents", "single", "--agent-name", "asker", "prompt", "--prompt", "MENU And that?");
  const all = await until("the second question by the other server", async () => {
    const found = (await run(fixture, "attention", "deliveries", "--json")).json()[
      "deliveries"
    ] as Delivery[];
    return found.filter(({ state }) => state === "delivered").length === 2 && found;
  });
  expect(all.length).toBe(2);
  expect(
    bodies()
      .slice(1)
      .map(({ data }) => data.items.map(({ question }) => question)),
  ).toEqual([["Delete it all?"], ["And that?"]]);
  expect(second.complaints()).toBe("");
}, 120_000);

test("a rule file with a mistake is named with its line, and the server serves without it", async () => {
  await using fixture = createBuiltFixture(dist);
  const path = writeRules(fixture, "version: 1", "rules:", "  desk:", "    comand: { argv: [cat] }");
  const checked = await fixture.mgr("attention", "rules");
  expect([checked.exitCode, checked.stderr]).toEqual([
    2,
    expect.stringContaining(`${path}:4: rules.desk.comand: is not known here; did you mean "command"?`),
  ]);
  const doctor = await fixture.mgr("doctor", "--json");
  expect(doctor.stdout).toContain("rules.desk.comand: is not known here");
  await using at = await startCoordinator(fixture);
  expect((await at.ask("/svc/attention/deliveries")).body).toEqual({
    schema_version: 1,
    deliveries: [],
    next_before: null,
  });
  await until("the warning", () => at.complaints().includes("nothing is delivered"));
}, 60_000);
