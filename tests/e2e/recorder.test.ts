import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/headless";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const single = ["agents", "single", "--agent-name", "worker"];
const why = "agents single --agent-name worker why --at now --json".split(" ");
const replay = [..."agents single --agent-name worker replay --json --at".split(" "), "1h ago"];
const svc = (fixture: CliFixture, words: string[]) => fixture.run("svc", words);

async function launch(fixture: CliFixture): Promise<string> {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--gateway-background"];
  const launched = await fixture.mgr(...words, "--json", "--", "--speed", "20");
  expect(launched.stderr).toBe("");
  return String(launched.json()["session_root"]);
}

/** The rows that a terminal shows after an asciicast file. */
async function shownBy(cast: string): Promise<string[]> {
  const [head = "", ...lines] = cast.trimEnd().split("\n");
  const { width, height } = JSON.parse(head) as { width: number; height: number };
  const terminal = new Terminal({ cols: width, rows: height, allowProposedApi: true });
  terminal.loadAddon(new Unicode11Addon() as never);
  terminal.unicode.activeVersion = "11";
  for (const line of lines) {
    const [, code, data] = JSON.parse(line) as [number, string, string];
    if (code === "r") {
      const [columns = width, rows = height] = data.split("x").map(Number);
      terminal.resize(columns, rows);
    } else if (code === "o") {
      await new Promise<void>((resolve) => terminal.write(data, resolve));
    }
  }
  const buffer = terminal.buffer.active;
  return Array.from({ length: terminal.rows }, (_, row) =>
    (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
  );
}

const screenOf = async (fixture: CliFixture): Promise<string[]> => {
  const [session = ""] = await fixture.sessions();
  const screen = await fixture.tmux("capture-pane", "-p", "-t", `=${session}:0.0`);
  return screen.split("\n").map((row) => row.trimEnd());
};

const trimmed = (rows: readonly string[]) => rows.join("\n").trimEnd();

/** Without the row in which the agent counts the seconds of its work: one passes between two readings. */
const withoutClock = (rows: readonly string[]) => trimmed(rows.filter((row) => !/ \(\d+s · /.test(row)));

const recordings = (sessionRoot: string) => join(sessionRoot, "gateway", "recordings");

describe("the flight recorder of an agent", () => {
  test("is off until it is switched on, then shows why the agent waited, and its screen as it is", async () => {
    await using fixture = createCliFixture();
    const sessionRoot = await launch(fixture);
    const off = await svc(fixture, ["record", "worker", "status", "--json"]);
    expect(off.json()).toMatchObject({ enabled: false, recording: false, segments: 0 });
    expect(existsSync(recordings(sessionRoot))).toBe(false);
    const nothing = await svc(fixture, ["why", "worker", "--at", "now"]);
    expect([nothing.exitCode, nothing.stderr]).toEqual([
      1,
      expect.stringContaining(
        "nothing is recorded of this agent. Record it from now on with: svc record worker on",
      ),
    ]);

    for (const limit of [
      ["--max-size", "1025G"],
      ["--max-size", "0M"],
      ["--max-age", "3661d"],
    ]) {
      const beyond = await svc(fixture, ["record", "worker", "on", ...limit]);
      expect([beyond.exitCode, beyond.stderr]).toEqual([2, expect.stringMatching(/--max-\w+ is \d+\w to/)]);
    }

    const on = await svc(fixture, [
      "record",
      "worker",
      "on",
      "--max-size",
      "8M",
      "--max-age",
      "2d",
      "--json",
    ]);
    expect(on.json()).toMatchObject({
      enabled: true,
      recording: true,
      max_bytes: 8 * 2 ** 20,
      max_age_seconds: 2 * 86_400,
      problem: null,
    });
    expect((await svc(fixture, ["ask", "worker", "say hello"])).exitCode).toBe(0);
    expect((await svc(fixture, ["tell", "worker", "work\nSILENT 600000"])).exitCode).toBe(0);
    const waits = (await svc(fixture, ["tell", "worker", "later"])).stdout.match(/gwreq-\S+/)?.[0];
    const busy = await until("the recorded wait", async () => {
      const run = await fixture.runHere(...why);
      const moment = run.exitCode === 0 ? run.json() : {};
      const text = JSON.stringify(moment);
      const wanted = [waits ?? "?", '"blocking":"turn.phase=active', '"queue_depth":1', '"do":"wait"'];
      return wanted.every((part) => text.includes(part)) && moment;
    });
    expect(busy).toMatchObject({
      terminal: { ready: false, blocking: expect.stringContaining("turn.phase=active") },
      decision: { do: "wait", request_id: waits, reason: "not_ready", request_admission: "open" },
      queue: { queue_depth: 1, requests: [{ request_id: waits, state: "accepted" }] },
    });
    const text = await svc(fixture, ["why", "worker", "--at", String(busy["at_utc"])]);
    expect(text.stdout).toMatch(/^ready +no, since .*turn\.phase=active/m);
    expect(text.stdout).toMatch(/^ {2}fails {2}turn\.phase=active, wanted ready {2}<- what kept it/m);
    expect(text.stdout).toContain("in the queue: 1");

    const live = await svc(fixture, ["why", "worker", "--json"]);
    expect(live.json()).toMatchObject({ queue_depth: 1, explanation: { prompt_ready: { holds: false } } });

    const shown = await until("the recorded screen to be the live one", async () => {
      const cast = await fixture.runHere(...replay);
      const rows = cast.exitCode === 0 ? withoutClock(await shownBy(cast.stdout)) : "";
      return rows !== "" && rows === withoutClock(await screenOf(fixture)) && rows;
    });
    expect(shown).toContain("SILENT 600000");

    const file = join(fixture.folder, "night.cast");
    const written = await svc(fixture, ["replay", "worker", "--at", "1h ago", "--cast", file]);
    expect([written.exitCode, written.stderr]).toEqual([0, ""]);
    expect(JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "")).toMatchObject({ version: 2 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await svc(fixture, ["replay", "worker", "--cast", file]);
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("is there already")]);
    const refusals: [string[], number, string][] = [
      [["--cast", join(fixture.folder, "no", "a.cast")], 1, "is no folder"],
      [["--at", "2199-01-01T00:00:00Z", "--json"], 2, "--at 2199-01-01T00:00:00Z has not come yet"],
      [["--until", "2001-01-01T00:00:00Z", "--json"], 1, "no screen is recorded before"],
    ];
    for (const [flags, exitCode, said] of refusals) {
      const refused = await svc(fixture, ["replay", "worker", ...flags]);
      expect([refused.exitCode, refused.stderr]).toEqual([exitCode, expect.stringContaining(said)]);
    }
    const future = await svc(fixture, ["why", "worker", "--at", "2199-01-01T00:00:00Z"]);
    expect(future.stdout).toContain("this moment has not come yet");
    expect(future.stdout).not.toContain("its screen:");
    const noTerminal = await svc(fixture, ["replay", "worker"]);
    expect([noTerminal.exitCode, noTerminal.stderr]).toEqual([1, expect.stringContaining("no terminal")]);

    const ended = await svc(fixture, ["record", "worker", "off"]);
    expect(ended.stdout).toMatch(/^recording +no: it is off$/m);
    const names = readdirSync(recordings(sessionRoot));
    expect((await svc(fixture, ["int", "worker"])).exitCode).toBe(0);
    expect(readdirSync(recordings(sessionRoot))).toEqual(names);
    const afterwards = await svc(fixture, ["why", "worker", "--at", "now", "--json"]);
    expect(afterwards.json()).toMatchObject({
      recorded: "gap",
      gap: expect.stringContaining("switched off"),
    });
  }, 120_000);

  test("outlives a gateway that is killed, and is read without one", async () => {
    await using fixture = createCliFixture();
    const sessionRoot = await launch(fixture);
    expect((await fixture.mgr(...single, "record", "on")).exitCode).toBe(0);
    expect((await svc(fixture, ["ask", "worker", "before the end"])).exitCode).toBe(0);
    const recorded = async () => (await fixture.runHere(...why)).stdout;
    await until("the turn is recorded", async () => (await recorded()).includes('"completed"'));
    const pid = Number(readFileSync(join(sessionRoot, "gateway", "run", "gateway.pid"), "utf8"));
    fixture.kill(pid);
    await until("its end", () => !fixture.alive(pid));
    expect(await recorded()).toContain('"completed"');
    const cast = await fixture.mgr(...replay);
    expect(trimmed(await shownBy(cast.stdout))).toContain("before the end");
    const status = await fixture.mgr(...single, "record", "status");
    expect(status.stdout).toMatch(/^recording +no: it is on, and no gateway records$/m);

    expect((await svc(fixture, ["fix", "worker"])).exitCode).toBe(0);
    await until("the next part", () => readdirSync(recordings(sessionRoot)).length >= 4);
    const live = await fixture.mgr(...single, "record", "status", "--json");
    expect(live.json()).toMatchObject({ enabled: true, recording: true, problem: null });
  }, 120_000);
});
