import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { until } from "../support/until.ts";

test("a team goes up as its file says, changes where the file changes, and goes down", async () => {
  await using fixture = createCliFixture();
  const file = (text: string) => writeFileSync(join(fixture.workdir, "svc.yaml"), text);
  const svc = async (...words: string[]) => fixture.run("svc", words, { cwd: fixture.workdir });
  const sh = async (line: string) => {
    const ran = await fixture.shell(`cd ${fixture.workdir} && ${line}`);
    expect([line, ran.exitCode]).toEqual([line, 0]);
    return ran.stdout;
  };
  await sh("git init -q -b main . && git config user.name t && git config user.email t@t.test");
  await sh("echo one > a.txt && git add a.txt && git commit -qm one");
  // A hook of the repository does not run because of us.
  await sh(
    "printf '#!/bin/sh\\ntouch hook-ran\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout",
  );

  file("version: 1\nagents:\n  builder: { tool: demoo }\n");
  const wrong = await fixture.run("svc", ["up"], { cwd: fixture.workdir });
  expect(wrong.exitCode).toBe(2);
  expect(wrong.stderr).toContain("svc.yaml:3: agents.builder.tool: expected one of claude,");

  writeFileSync(join(fixture.workdir, "secrets.env"), "TOKEN=first\n");
  const team = (change: { log: string; second?: string }) =>
    file(
      [
        "version: 1",
        "agents:",
        `  builder: { tool: demo, env_file: secrets.env, args: [--log, ../${change.log}] }`,
        change.second ??
          "  writer: { tool: demo, worktree: true, mailbox: true, notifier: { interval_seconds: 30 } }",
        "people:",
        "  ann: {}",
        "",
      ].join("\n"),
    );
  team({ log: "a.log" });
  const unasked = await svc("up");
  expect([unasked.exitCode, unasked.stderr]).toEqual([
    1,
    expect.stringContaining("Do this? Say so with --yes."),
  ]);
  const status = await fixture.run("svc", ["status"], { cwd: fixture.workdir });
  expect([status.exitCode, status.stdout]).toEqual([
    1,
    [
      "+ ann: register the mailbox ann@svc.localhost",
      "+ builder: launch demo",
      "  ! arguments that may choose code or access: --log ../a.log",
      "    args: --log ../a.log",
      "    env_file: secrets.env",
      "    env: TOKEN",
      "+ writer: make its git worktree on branch svc/writer",
      "+ writer: launch demo",
      "    mailbox: writer@svc.localhost",
      "~ writer: set its notifier",
      "  ! enabled: true",
      "    interval_seconds: 30",
      "",
    ].join("\n"),
  ]);
  const up = await svc("up", "--yes", "--json");
  expect(up.json()).toMatchObject({ failures: [] });
  expect([up.stderr, up.exitCode]).toEqual(["", 0]);
  const asIs = "= builder: as the file says\n= writer: as the file says\n";
  expect([(await svc("status")).stdout, (await svc("up")).stdout]).toEqual([asIs, asIs]);
  expect(existsSync(join(fixture.workdir, "hook-ran"))).toBe(false);
  expect((await sh("git branch --list 'svc/*'")).trim()).toBe("+ svc/writer");

  const writer = async () =>
    (
      await fixture.mgr(
        "agents",
        "single",
        "--agent-name",
        "writer",
        "gateway",
        "mail-notifier",
        "status",
        "--json",
      )
    ).json();
  expect(await writer()).toMatchObject({ enabled: true, interval_seconds: 30, wake_policy: "on_change" });
  const accounts = await fixture.run("svc-mgr", ["mailbox", "accounts", "list"], { cwd: fixture.workdir });
  expect(accounts.stdout).toContain("ann@svc.localhost");

  // A changed notifier is asked about: nothing of it counts before the yes.
  const before = readFileSync(join(fixture.workdir, "svc.yaml"), "utf8");
  const widened = "interval_seconds: 30, max_hops: 0, appendix_text: always obey";
  file(before.replace("interval_seconds: 30", widened));
  const questioned = await svc("up");
  expect([questioned.exitCode, questioned.stderr]).toEqual([
    1,
    expect.stringContaining(
      '~ writer: set its notifier\n  ! max_hops: 20 -> 0\n  ! appendix_text: "" -> always obey\n',
    ),
  ]);
  expect(await writer()).toMatchObject({ max_hops: 20, appendix_text: "" });
  expect((await svc("status")).exitCode).toBe(1);
  expect((await svc("up", "--yes")).exitCode).toBe(0);
  expect(await writer()).toMatchObject({ max_hops: 0, appendix_text: "always obey" });
  expect((await svc("status")).stdout).toBe(asIs);
  file(before);

  // Reminders and schedules are made, changed and removed as the file says; one made by hand stays.
  const reminders = async () => {
    const words = ["agents", "single", "--agent-name", "builder", "gateway", "reminders", "list", "--json"];
    const { reminders: listed } = (await fixture.mgr(...words)).json() as {
      reminders: { reminder_id: string; title: string; cron?: string; durable?: boolean }[];
    };
    return listed.map(({ title, cron, durable }) => [title, cron ?? null, durable ?? false]);
  };
  const byHand = ["--title", "mine", "--prompt", "x", "--start-after-seconds", "9999"];
  const single = ["agents", "single", "--agent-name", "builder"];
  expect((await fixture.mgr(...single, "gateway", "reminders", "create", ...byHand)).exitCode).toBe(0);
  const timed = (cron: string) =>
    file(
      readFileSync(join(fixture.workdir, "svc.yaml"), "utf8")
        .replace(/, reminders: .*(?=\n)/, " }")
        .replace(
          /(builder: .*) \}\n/,
          cron === ""
            ? "$1 }\n"
            : `$1, reminders: { look: { prompt: FAST, every_seconds: 9000 } }, schedules: { nightly: { prompt: FAST, cron: ${cron}, time_zone: Europe/Berlin } } }\n`,
        ),
    );
  timed("30 2 * * *");
  const asked = await svc("up", "--plan");
  expect(asked.stdout).toBe(
    "+ builder: add the reminder look\n    when: every 9000 s\n    prompt: FAST\n+ builder: add the schedule nightly\n    when: 30 2 * * * (Europe/Berlin)\n    prompt: FAST\n= writer: as the file says\n",
  );
  expect((await svc("up", "--yes")).exitCode).toBe(0);
  expect((await svc("status")).stdout).toBe(asIs);
  expect(await reminders()).toEqual([
    ["mine", null, false],
    ["look", null, true],
    ["nightly", "30 2 * * *", true],
  ]);
  timed("30 3 * * *");
  const changed = await svc("up", "--yes");
  expect(changed.stdout).toContain(
    "- builder: remove the schedule nightly\n+ builder: add the schedule nightly\n    when: 30 3 * * * (Europe/Berlin)\n    prompt: FAST\n=",
  );
  expect(await reminders()).toContainEqual(["nightly", "30 3 * * *", true]);
  timed("");
  expect((await svc("up", "--yes")).exitCode).toBe(0);
  expect([await reminders(), (await svc("status")).stdout]).toEqual([[["mine", null, false]], asIs]);

  // A group is agents and people under one name.
  file(`${readFileSync(join(fixture.workdir, "svc.yaml"), "utf8")}groups:\n  all: [builder, writer, ann]\n`);
  const group = await svc("tell", "--json", "@all", "FAST");
  expect([group.exitCode, group.stdout.match(/"request_id"/g)?.length]).toEqual([0, 2]);
  const mailed = await svc("mail", "@all", "hello", "to you", "--from", "ann@svc.localhost", "--json");
  expect([mailed.exitCode, mailed.stderr]).toEqual([
    0,
    expect.stringContaining('"builder" has no mailbox and gets nothing'),
  ]);
  expect(mailed.stdout).toContain("writer@svc.localhost");
  const unknown = await svc("tell", "@nobody", "FAST");
  expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining('"nobody"')]);
  expect((await svc("tell", "@buidler", "FAST")).stderr).toContain('did you mean "builder"?');

  // Another value of a variable is another launch, and is nowhere in what we keep. An agent that works is
  // left alone.
  writeFileSync(join(fixture.workdir, "secrets.env"), "TOKEN=second\n");
  const differs = /^~ builder: end and launch again; it differs in env\n[^=]*= writer: as the file says\n$/;
  await until("both to be idle again", async () => differs.test((await svc("up", "--plan")).stdout), 60_000);
  expect((await svc("up", "--yes")).exitCode).toBe(0);
  const kept = await sh(`cat ${fixture.env["HOME"]}/.local/state/svc/teams/*/agents.json`);
  expect(kept).toContain('"builder"');
  expect(kept).not.toContain("second");

  // An agent that a person launched has the name: nothing is changed, and it stays.
  await fixture.run("svc", ["new", "stranger", "demo"], { cwd: fixture.workdir });
  team({ log: "a.log", second: "  stranger: { tool: demo }" });
  const taken = await svc("up", "--yes", "--prune");
  expect([taken.exitCode, taken.stdout]).toEqual([1, ""]);
  expect(taken.stderr).toContain("! stranger: an agent of this name runs that a person launched in");
  team({ log: "a.log", second: "" });
  const left = await svc("up", "--yes");
  expect(left.stdout).toMatch(/^= builder: .*\n! writer: left alone; .*--prune/);
  const pruned = await svc("up", "--yes", "--prune");
  expect(pruned.stdout).toContain("- writer: stop\n".trim());

  const worktree = (await sh("git worktree list --porcelain")).match(/^worktree (.*\/writer)$/m)?.[1] ?? "";
  writeFileSync(join(worktree, "draft.txt"), "not committed");
  const down = await fixture.run("svc", ["down", "--yes", "--worktrees"], { cwd: fixture.workdir });
  expect(down.stdout).toContain("- builder: stop");
  expect(down.stdout).toMatch(/kept the worktree of writer: .*(?:modified|untracked)/);
  expect(readFileSync(join(worktree, "draft.txt"), "utf8")).toBe("not committed");
  await sh(`rm ${join(worktree, "draft.txt")}`);
  expect((await svc("down", "--worktrees")).stdout).toContain("removed the worktree of writer");
  expect(existsSync(worktree)).toBe(false);
  expect((await fixture.mgr("team", "down", "--file", join(fixture.workdir, "svc.yaml"))).stdout).toContain(
    "nothing runs",
  );
  expect((await fixture.mgr("team", "up", "--file", join(fixture.folder, "none.yaml"))).stderr).toContain(
    "there is no file",
  );
  const nowhere = await fixture.run("svc-mgr", ["team", "status"], { cwd: fixture.folder });
  expect([nowhere.exitCode, nowhere.stderr]).toEqual([
    2,
    expect.stringContaining("there is no svc.yaml here"),
  ]);
  await fixture.run("svc", ["stop", "stranger"]);
}, 240_000);

if (isWholeMatrix) {
  test("uninstall lists running agents, work of worktrees and mail, and removes nothing of them unasked", async () => {
    await using fixture = createCliFixture();
    const svc = (...words: string[]) => fixture.run("svc", words, { cwd: fixture.workdir });
    const uninstall = (...words: string[]) =>
      fixture.run("svc-mgr", ["uninstall", ...words], { cwd: fixture.workdir });
    const sh = async (line: string) => {
      const ran = await fixture.shell(`cd ${fixture.workdir} && ${line}`);
      expect([line, ran.exitCode]).toEqual([line, 0]);
      return ran.stdout;
    };
    await sh("git init -q -b main . && git config user.name t && git config user.email t@t.test");
    await sh("echo one > a.txt && git add a.txt && git commit -qm one");
    writeFileSync(
      join(fixture.workdir, "svc.yaml"),
      "version: 1\nagents:\n  writer: { tool: demo, worktree: true, mailbox: true }\npeople:\n  ann: {}\n",
    );
    const state = join(fixture.env["HOME"] ?? "", ".local", "state", "svc");
    const worktrees = join(fixture.env["HOME"] ?? "", ".local", "share", "svc", "worktrees");
    expect((await svc("up", "--yes")).exitCode).toBe(0);
    expect((await svc("mail", "@ann", "hello", "you", "--from", "writer@svc.localhost")).exitCode).toBe(0);
    const worktree = (await sh("git worktree list --porcelain")).match(/^worktree (.*\/writer)$/m)?.[1] ?? "";
    expect(worktree).toStartWith(`${worktrees}/`);

    // Also with --discard no agent loses its session while it runs.
    const running = await uninstall("--discard", "--yes", "--json");
    expect([running.exitCode, running.error()]).toMatchObject([
      1,
      { removes: [state, worktrees], losses: [{ kind: "agent", what: "writer" }] },
    ]);
    expect((await svc("down", "--yes")).exitCode).toBe(0);
    writeFileSync(join(worktree, "draft.txt"), "not committed");
    const dry = await uninstall("--dry-run");
    expect([dry.exitCode, dry.stdout]).toEqual([
      1,
      [
        `a worktree has work that is nowhere else: ${worktree}: 1 modified or untracked files`,
        `stays: ${join(fixture.workdir, ".svc", "mailbox")}, mail, 1 unread`,
        `would remove: ${state}`,
        `would remove: ${worktrees}`,
        "",
      ].join("\n"),
    ]);
    const refused = await uninstall("--yes");
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("nothing was removed")]);
    // What the earlier document said to remove has no work in it.
    expect(worktree).not.toStartWith(state);
    expect(readFileSync(join(worktree, "draft.txt"), "utf8")).toBe("not committed");

    await sh(`rm ${join(worktree, "draft.txt")}`);
    expect((await uninstall()).stderr).toContain("Say so with --yes");

    // Other files beside the worktrees are listed, and empty folders are not.
    const [notes, loose] = [join(dirname(worktree), "notes"), join(worktrees, "a.txt")];
    mkdirSync(join(dirname(worktree), "empty"));
    mkdirSync(notes);
    writeFileSync(join(notes, "b.txt"), "b");
    writeFileSync(loose, "a");
    const others = await uninstall("--yes", "--json");
    expect([others.exitCode, others.error()]).toMatchObject([
      1,
      { losses: [loose, notes].map((what) => ({ kind: "folder", what })) },
    ]);
    rmSync(notes, { recursive: true });
    rmSync(loose);

    // A worktree that git keeps stays, and everything else with it.
    await sh(`git worktree lock ${worktree}`);
    const kept = await uninstall("--yes", "--json");
    expect([kept.exitCode, kept.error()]).toMatchObject([
      1,
      { removed: false, not_removed: [expect.stringMatching(/\/writer: .*locked/)] },
    ]);
    expect([existsSync(state), existsSync(worktree)]).toEqual([true, true]);
    await sh(`git worktree unlock ${worktree}`);

    // While a server runs, its folders stay.
    {
      await using server = await startCoordinator(fixture);
      const served = await uninstall("--discard", "--yes", "--json");
      expect([served.exitCode, served.error()]).toMatchObject([
        1,
        { losses: [{ kind: "server", what: server.baseUrl }] },
      ]);
    }
    const done = await uninstall("--yes", "--json");
    expect([done.exitCode, done.json()]).toMatchObject([0, { removed: true, losses: [] }]);
    expect([existsSync(state), existsSync(worktrees)]).toEqual([false, false]);
    expect(existsSync(join(fixture.workdir, ".svc", "mailbox"))).toBe(true);
    expect((await sh("git worktree list")).trim().split("\n")).toHaveLength(1);
    expect(await sh("git branch --list 'svc/*'")).toContain("svc/writer");
  }, 120_000);
}
