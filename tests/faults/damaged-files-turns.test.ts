import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { copyOf, type Damage, damages, everyDamage } from "../support/damaged-files.ts";
import { turnRows } from "../support/damaged-rows.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

/**
 * Every file of a turn that has ended, damaged in every way: the turn is never told as one that runs, nothing
 * of it keeps the agent from working, and `doctor` names what was lost. Each file has a turn of its own, so
 * that all are damaged at once.
 */

let batch: HeadlessAgentFixture;
const turnOf = (file: string) => file.replace(/\W/g, "-");
const pathOf = (file: string) => join(batch.sessionRoot, "manifest.turn-artifacts", turnOf(file), file);

beforeAll(async () => {
  batch = await launchHeadless({
    executable: join(import.meta.dir, "../../dist/svc-gateway"),
    flags: ["--env", "GIVEN=value"],
  });
  for (const { file } of turnRows) {
    await batch.submit(turnOf(file), "say hello\nFAST");
    await batch.ended(turnOf(file));
    expect(existsSync(pathOf(file))).toBe(true);
  }
}, 120_000);
afterAll(() => batch?.[Symbol.asyncDispose]());

async function tellAll(damage: Damage) {
  const copies = turnRows.map(({ file }) => copyOf(pathOf(file)));
  for (const { file } of turnRows) damages[damage](pathOf(file));
  try {
    const turns = new Map<string, unknown[]>();
    for (const { file } of turnRows) {
      const read = await batch.call(`/v1/turns/${turnOf(file)}`);
      const events = await batch.call(`/v1/turns/${turnOf(file)}/events?limit=1000`);
      turns.set(file, [read.body["status"] ?? read.status, events.status]);
    }
    const { checks, healthy } = (await batch.fixture.mgr("doctor", "--json")).json() as {
      checks: { name: string; detail: string }[];
      healthy: boolean;
    };
    const details = checks.filter(({ name }) => name === "agent batch").map(({ detail }) => detail);
    const named = turnRows.filter(({ file }) => details.some((detail) => detail.includes(pathOf(file))));
    const admission = (await batch.call("/v1/status")).body["request_admission"];
    return { turns, named: named.map(({ file }) => file), healthy, admission, exits: await exitsOf() };
  } finally {
    for (const copy of copies) copy.restore();
  }
}

/** Of `turn status`, which mends what it can: the last to be asked. */
async function exitsOf(): Promise<Map<string, unknown[]>> {
  const exits = new Map<string, unknown[]>();
  for (const { file } of turnRows) {
    const run = await batch.mgr("turn", "status", turnOf(file), "--json");
    exits.set(file, [run.exitCode, run.exitCode === 0 ? run.json()["status"] : run.error()["error"]]);
  }
  return exits;
}

describe.each(everyDamage)("a file of a turn that is %s", (damage) => {
  let told: Awaited<ReturnType<typeof tellAll>>;
  beforeAll(async () => {
    told = await tellAll(damage);
  }, 120_000);

  test.each(turnRows)("$file is reported", ({ file, told: want = "completed", read }) => {
    expect(told.turns.get(file)).toEqual(want === 404 ? [404, 404] : [want, 200]);
    const exit = read?.[damage === "a folder" ? "folder" : "other"] ?? [0, "completed"];
    expect(told.exits.get(file)).toEqual(exit);
  });

  test("doctor names what was lost, and the agent goes on working", () => {
    expect(told.named).toEqual(["request.json", "result.json"]);
    expect([told.healthy, told.admission]).toEqual([true, "open"]);
  });
});

describe.each(everyDamage)("the values of a headless agent's variables in a file that is %s", (damage) => {
  const file = () => join(batch.sessionRoot, "launch-environment.json");

  test("are missed before a turn begins without them", async () => {
    const copy = copyOf(file());
    damages[damage](file());
    const statusIs = (want: string) =>
      until(`the admission ${want}`, async () => {
        const { body } = await batch.call("/v1/status");
        return body["request_admission"] === want && body;
      });
    try {
      expect(await statusIs("blocked_unavailable")).toMatchObject({
        managed_agent_connectivity: "unavailable",
        admission_block: {
          reason: "launch_environment_lost",
          detail: expect.stringMatching(
            /launch-environment\.json .* of GIVEN: put a copy of it in its place/,
          ),
        },
      });
      const payload = { prompt: "without its variables\nFAST" };
      expect(await batch.call("/v1/requests", { kind: "submit_prompt", payload })).toMatchObject({
        status: 503,
        body: { detail: expect.stringContaining("GIVEN") },
      });
      const { agents } = (await batch.fixture.mgr("agents", "list", "--json")).json();
      expect(agents).toMatchObject([{ problem: expect.stringContaining("GIVEN") }]);
      const doctor = await batch.fixture.mgr("doctor", "--json");
      expect(doctor.exitCode).toBe(1);
      expect(doctor.json()["checks"]).toContainEqual(
        expect.objectContaining({ name: "agent batch", verdict: "damaged" }),
      );
    } finally {
      copy.restore();
    }
    await statusIs("open");
  }, 60_000);
});
