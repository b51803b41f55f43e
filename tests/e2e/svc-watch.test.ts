import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { openPersonPane, type PersonPane } from "../support/person-pane.ts";
import { until } from "../support/until.ts";

/** What the scripted agent was given, oldest first. */
function heard(log: string): unknown[] {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return entries.filter(({ kind }) => kind === "submitted").map(({ text }) => text);
}

/**
 * Begins `svc watch` in the pane. `settings`: the terminal's own settings before. Resolves when all agents
 * are listed.
 */
async function watch(fixture: CliFixture, pane: PersonPane, agents: readonly string[]) {
  await pane.enter("clear; stty -g > before");
  const command = `echo $$ > pid; exec ${fixture.command("svc").join(" ")} watch`;
  await pane.enter(`sh -c '${command}'; echo "ended with $?"`);
  for (const name of agents) await pane.untilShows(new RegExp(`^[> ] ${name} `, "m"));
}

/** The shell has its terminal again as it was, and echoes what is typed. */
async function expectRestored(fixture: CliFixture, pane: PersonPane): Promise<string> {
  const after = await pane.untilShows(/^ended with \d+$/m);
  await pane.enter('stty -g > after; echo "ty""ped"');
  await pane.untilShows(/^typed$/m);
  expect(await pane.modes()).toBe("0 1 1 0");
  const settings = (name: string) => readFileSync(join(fixture.workdir, name), "utf8");
  expect(settings("after")).toBe(settings("before"));
  return after;
}

test("a person selects, prompts, answers, interrupts, attaches, filters, stops and leaves by keys", async () => {
  await using fixture = createCliFixture();
  const log = (name: string) => join(fixture.folder, `${name}.log`);
  for (const name of ["ann", "bob"]) {
    expect((await fixture.run("svc", ["new", name, "demo", "-w", "--", "--log", log(name)])).exitCode).toBe(
      0,
    );
  }
  await using pane = await openPersonPane(fixture);
  await watch(fixture, pane, ["ann", "bob"]);
  expect(await pane.screen()).toMatch(
    /^2 agents\n {2}NAME +TOOL +STATE +SINCE +QUEUE +MAIL +LAST TURN\n> ann +demo +ready /,
  );

  // A paste into the list would be keys.
  await pane.paste("sy");
  await pane.type("j", "p");
  await pane.untilShows(/^prompt bob: *$/m);
  await pane.type("-l", "describe the 港 and");
  await pane.paste("two lines\nof it");
  await pane.untilShows("of it");
  await pane.type("Enter");
  await pane.untilShows("bob: accepted gwreq-");
  await until("the prompt", () => heard(log("bob")).length > 0);
  expect(heard(log("bob"))).toEqual(["describe the 港 andtwo lines\nof it"]);
  await pane.untilShows(/^> bob +demo +ready .* success /m);

  // What an agent asks may hold anything; the agent that asks is the first one.
  await pane.type("p");
  await pane.type("-l", "MENU 港を \u202e消す?");
  await pane.type("Enter");
  const asked = await pane.untilShows(/^> bob +demo +asks .* asks: 港を \\u202e消す\?$/m);
  expect(asked).toMatch(/^2 agents, 1 waits for you\n.*\n> bob .*\n {2}ann /);
  expect(asked).toMatch(/\n {2}1\. Yes\n {2}2\. No\n/);
  await pane.type("1");
  await pane.type("a");
  await pane.untilShows('answer "bob" with a digit');
  await pane.type("2");
  await pane.untilShows("bob: answered 2. No");
  await pane.untilShows(/^> bob +demo +ready /m);

  await pane.type("p");
  await pane.type("-l", "SLOW 60000");
  await pane.type("Enter");
  await pane.untilShows(/^> bob +demo +busy +\d+s /m);
  await pane.type("p");
  await pane.type("-l", "never mind");
  await pane.type("Enter");
  await pane.untilShows("bob: accepted gwreq-");
  await pane.type("d");
  await pane.untilShows(/^ {2}1\. never mind \(from a person\)$/m);
  await pane.type("1");
  await pane.untilShows('bob: withdrew "never mind"');
  await pane.type("i");
  await pane.untilShows("bob: interrupted");
  await pane.untilShows(/^> bob +demo +ready .* interrupted /m);

  await pane.type("Enter");
  await pane.untilShows(/\[SVC-bob/);
  await pane.type("C-b", "d");
  await pane.untilShows(/^> bob +demo +ready /m);
  await pane.type("k");
  await pane.untilShows(/^> ann /m);

  await pane.type("/", "b", "o");
  expect(await pane.untilShows(/^filter: bo$/m)).not.toMatch(/^[> ] ann /m);
  await pane.type("Escape");
  await pane.untilShows(/^ {2}ann /m);

  await pane.resize(44, 10);
  await pane.untilShows(/^> bob +ready /m);
  await pane.resize(100, 24);
  await pane.untilShows(/^> bob +demo +ready /m);

  await pane.type("s");
  await pane.untilShows('Stop "bob"');
  await pane.type("n");
  await pane.untilShows("nothing was stopped");
  await pane.type("s", "y");
  expect(await pane.untilShows('stopped "bob"')).not.toMatch(/^[> ] bob /m);
  expect((await fixture.sessions()).filter((name) => name.startsWith("SVC-bob"))).toEqual([]);

  await pane.type("q");
  const after = await expectRestored(fixture, pane);
  // What was last seen stays; the rest of the screen is what it was.
  expect(after).toMatch(/^NAME +TOOL .*\nann +demo .*\nended with 0$/m);
  await fixture.run("svc", ["stop", "ann"]);
}, 180_000);

test.each([
  { id: "Ctrl-C in the list", keys: [], end: ["C-c"] },
  { id: "Ctrl-C in a half typed prompt", keys: ["p", "half"], end: ["C-c"] },
  { id: "q in the help", keys: ["?"], end: ["q", "q"] },
  { id: "SIGTERM", keys: ["p", "half"], end: null },
])(
  "$id gives the terminal back",
  async ({ keys, end }) => {
    await using fixture = createCliFixture();
    await fixture.run("svc", ["new", "ann", "demo"]);
    await using pane = await openPersonPane(fixture);
    await watch(fixture, pane, ["ann"]);
    for (const key of keys) await pane.type(key);
    if (keys.length > 0) await pane.untilShows(/half|^keys$/m);
    expect(await pane.modes()).toMatch(/^1 [01] 0 0$/);
    if (end) await pane.type(...end);
    else process.kill(Number(readFileSync(join(fixture.workdir, "pid"), "utf8")), "SIGTERM");
    expect(await expectRestored(fixture, pane)).toContain("ended with 0");
    await fixture.run("svc", ["stop", "ann"]);
  },
  120_000,
);

test("NO_COLOR leaves out styles, and agents that come appear", async () => {
  await using fixture = createCliFixture();
  await fixture.run("svc", ["new", "ann", "demo"]);
  await using pane = await openPersonPane(fixture, { env: { NO_COLOR: "1" } });
  await watch(fixture, pane, ["ann"]);
  expect((await pane.styled()).match(/\x1b\[[\d;]*m/g)).toBeNull();
  await fixture.run("svc", ["new", "bob", "demo"]);
  await pane.untilShows(/^2 agents\n.*\n> ann .*\n {2}bob /);
  await pane.type("q");
  await expectRestored(fixture, pane);
  for (const name of ["ann", "bob"]) await fixture.run("svc", ["stop", name]);
}, 120_000);
