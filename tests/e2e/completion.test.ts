import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { atPrompt, installShells, shells } from "../support/shells.ts";
import { until } from "../support/until.ts";

beforeAll(installShells, 300_000);

const one = "svc-mgr agents single --agent-name harbor";
const completed: { id: string; typed: string; want: string }[] = [
  { id: "a command", typed: "svc-mgr agents si", want: "svc-mgr agents single" },
  { id: "a command below one", typed: `${one} gateway mail-n`, want: `${one} gateway mail-notifier` },
  { id: "a flag", typed: `${one} mail list --include-b`, want: `${one} mail list --include-body` },
  { id: "an agent that runs", typed: "svc-mgr agents single --agent-name ha", want: one },
  {
    id: "an agent in quotes",
    typed: 'svc-mgr agents single --agent-name "ha',
    want: 'svc-mgr agents single --agent-name "harbor"',
  },
  { id: "an address", typed: `${one} mail send --to ha`, want: `${one} mail send --to harbor@svc.localhost` },
  {
    id: "an address after its @",
    typed: `${one} mail send --to harbor@s`,
    want: `${one} mail send --to harbor@svc.localhost`,
  },
  {
    id: "an address behind =",
    typed: `${one} mail send --to=ha`,
    want: `${one} mail send --to=harbor@svc.localhost`,
  },
  { id: "a tool", typed: "svc-mgr agents launch --tool open", want: "svc-mgr agents launch --tool opencode" },
  {
    id: "a word of a closed set",
    typed: "svc-mgr agents list --state st",
    want: "svc-mgr agents list --state stopped",
  },
  {
    id: "a folder",
    typed: "svc-mgr agents launch --workdir pla",
    want: "svc-mgr agents launch --workdir places/",
  },
  { id: "a file", typed: `${one} mail send --body-file let`, want: `${one} mail send --body-file letter` },
];

describe.each([...shells])("%s completes", (shell) => {
  test("what is expected, evaluates nothing, and lists what may follow", async () => {
    await using at = await atPrompt(shell);
    const home = join(at.fixture.folder, "home");
    mkdirSync(join(home, "places"));
    writeFileSync(join(home, "letter"), "text");
    const root = ["--mailbox", "--mailbox-root", join(at.fixture.folder, "mail")];
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "harbor", "--no-gateway"];
    expect((await at.fixture.mgr(...launch, ...root)).exitCode).toBe(0);
    const files = new Set(readdirSync(home));
    for (const { id, typed, want } of completed) {
      await at.tab(typed);
      await until(`${id}: ${want}`, async () => (await at.typed()).trimEnd() === want);
    }

    await at.tab("svc-mgr agents single --agent-name $(touch evaluated) gateway `touch evaluated` st");
    // Whatever comes next at the prompt comes after the answer to this one.
    await at.tab("svc-mgr mailb", 1);
    await until("the next line", async () => (await at.typed()).trimEnd() === "svc-mgr mailbox");
    expect(existsSync(join(home, "evaluated"))).toBe(false);

    await at.tab("svc-mgr agents ", 2);
    await until("the list", async () => {
      const shown = await at.screen();
      return ["launch", "list", "self", "single", "watch"].every((word) => shown.includes(word));
    });
    expect(new Set(readdirSync(home))).toEqual(files);
  }, 120_000);
});

describe("a question of a shell", () => {
  test.each([
    { id: "before anything was launched", words: ["agents", "single", "--agent-name", ""] },
    { id: "about addresses that nobody has", words: ["mail", "--address", ""] },
    { id: "about a command that is not there", words: ["nonsense", "--flag", ""] },
    { id: "about nothing", words: [] },
  ])("is answered in silence $id", async ({ words }) => {
    await using fixture = createCliFixture();
    const answer = await fixture.mgr("complete", "--", ...words);
    expect(answer).toMatchObject({ exitCode: 0, stderr: "" });
    expect(answer.stdout).toEndWith(":none\n");
    expect(readdirSync(join(fixture.folder, "home"))).toEqual([]);
  });

  test("about a request is answered with those of the agent, the newest one first", async () => {
    await using fixture = createCliFixture();
    await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "harbor");
    const one = ["agents", "single", "--agent-name", "harbor"];
    const given = async (prompt: string) =>
      String((await fixture.mgr(...one, "prompt", "--prompt", prompt, "--json")).json()["request_id"]);
    const ids = [await given("first"), await given("second")];
    const offered = async (typed: string) => {
      const { stdout } = await fixture.mgr("complete", "--", ...one, "requests", "show", typed);
      return stdout.split("\n").flatMap((line) => /^(gwreq-\S+)\tsubmit_prompt, /.exec(line)?.[1] ?? []);
    };
    expect(await offered("")).toEqual(ids.toReversed());
    expect(await offered(ids[0] ?? "")).toEqual(ids.slice(0, 1));
    expect((await fixture.mgr("complete", "--", "agents", "self", "requests", "show", "")).stdout).toBe(
      ":none\n",
    );
    await fixture.mgr(...one, "stop");
    expect(await offered("gwreq-")).toEqual(ids.toReversed());
  });

  test("is answered where the registry is broken", async () => {
    await using fixture = createCliFixture();
    const env = { ...fixture.env, SVC_GLOBAL_REGISTRY_DIR: "relative" };
    const answer = await fixture.run("svc-mgr", ["complete", "--", "agents", "single", "--agent-id", ""], {
      env,
    });
    expect(answer).toMatchObject({ exitCode: 0, stdout: ":none\n", stderr: "" });
  });
});

describe("a script", () => {
  test.each([
    { words: ["completion", "bash"] },
    { words: ["completion", "zsh"] },
    { words: ["completion", "fish"] },
  ])("$words.1 says how to use it, of each program", async ({ words }) => {
    await using fixture = createCliFixture();
    for (const program of ["svc-mgr", "svc-gateway", "svc-coord"] as const) {
      const script = await fixture.run(program, words);
      expect(script).toMatchObject({ exitCode: 0, stderr: "" });
      expect(script.stdout).toMatch(new RegExp(`^# .*completion of ${program}. To use it:\\n#   now: `, "m"));
      expect(script.stdout).not.toContain("eval");
    }
  });
});
