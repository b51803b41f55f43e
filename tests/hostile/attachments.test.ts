import { describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isBelow, openFile } from "../../src/system/open-file.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { createScratch } from "../support/scratch.ts";

const executable = join(import.meta.dir, "../../dist/svc-gateway");
const secret = "the secret of another folder";

const single = ["agents", "single", "--agent-name", "worker"];

/** An agent with a mailbox, and files that it asks its gateway to read on its behalf. */
async function agentWithMail(flags: (outside: string) => string[] = () => []) {
  const fixture = createCliFixture({ executable });
  const outside = join(fixture.folder, "outside");
  mkdirSync(outside);
  const launch = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "worker",
    "--mailbox",
    "--json",
    ...flags(outside),
  );
  if (launch.exitCode !== 0) throw new Error(launch.stdout + launch.stderr);
  writeFileSync(join(outside, "secret.txt"), secret);
  writeFileSync(join(fixture.workdir, "report.txt"), "report");
  symlinkSync(join(outside, "secret.txt"), join(fixture.workdir, "link.txt"));
  symlinkSync(outside, join(fixture.workdir, "folder"));
  const base = async () => {
    const status = (await fixture.mgr(...single, "gateway", "status", "--json")).json();
    return `http://${status["gateway_host"]}:${status["gateway_port"]}`;
  };
  return {
    fixture,
    outside,
    async send(path: string) {
      const reply = await fetch(`${await base()}/v1/mail/send`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          to: ["worker@svc.localhost"],
          subject: "s",
          body_content: "b",
          attachments: [{ path }],
        }),
      });
      return { status: reply.status, text: await reply.text() };
    },
    /** What lies in the mailbox root by now, as text. */
    stored: () => {
      const root = join(fixture.workdir, ".svc/mailbox");
      return readdirSync(join(root, "attachments"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

test("a gateway reads on behalf of a caller below the agent's folder only", async () => {
  await using at = await agentWithMail();
  const { fixture, outside } = at;
  const refused = [
    "/proc/self/environ",
    "/proc/kmsg",
    "/proc/1/environ",
    "/sys/kernel/notes",
    "/dev/null",
    "/dev/zero",
    join(outside, "secret.txt"),
    "/etc/hostname",
    "/etc/passwd",
    join(fixture.workdir, "link.txt"),
    join(fixture.workdir, "folder/secret.txt"),
    join(fixture.workdir, "../outside/secret.txt"),
    `${fixture.workdir}/../${basename(fixture.workdir)}/../outside/secret.txt`,
    fixture.workdir,
    join(fixture.workdir, "nothing"),
    `${fixture.workdir}/${"x".repeat(300)}`,
    "/proc/self/cwd/report.txt/",
    join("/proc/self", "root", "etc/passwd"),
  ];
  for (const path of refused) {
    const { status, text } = await at.send(path);
    expect({ path, status, text }).toEqual({ path, status: 422, text: expect.not.stringContaining(secret) });
  }
  expect((await at.send(join(outside, "secret.txt"))).text).toContain("--attachment-root");
  expect(at.stored()).toEqual([]);
  expect((await at.send(join(fixture.workdir, "report.txt"))).status).toBe(200);
  expect(at.stored()).toEqual(["report"]);
}, 120_000);

test("a folder that the user named is read from too, also by a gateway that runs already", async () => {
  await using at = await agentWithMail();
  const { fixture, outside } = at;
  const file = join(outside, "secret.txt");
  const words = [...single, "gateway", "attach", "--attachment-root"];
  expect((await fixture.mgr(...words, "nowhere")).stderr).toContain("there is no folder");
  expect((await fixture.mgr(...words, outside)).exitCode).toBe(0);
  expect((await at.send(file)).status).toBe(200);
  expect((await at.send("/etc/hostname")).status).toBe(422);
  expect(at.stored()).toEqual([secret]);
}, 120_000);

describe("a folder that the user named is kept", () => {
  const flags = [
    { id: "for a gateway that launch starts", more: [] },
    { id: "for one that is attached later", more: ["--no-gateway"] },
  ];
  test.each(isWholeMatrix ? flags : flags.slice(0, 1))(
    "$id, by attach and by relaunch",
    async ({ more }) => {
      await using at = await agentWithMail((outside) => ["--attachment-root", outside, ...more]);
      const { fixture, outside } = at;
      const act = async (...words: string[]) => {
        const run = await fixture.mgr(...single, ...words);
        expect([words, run.exitCode, run.stderr]).toEqual([words, 0, expect.any(String)]);
      };
      const taken = async () => (await at.send(join(outside, "secret.txt"))).status;
      if (more.length > 0) await act("gateway", "attach");
      expect(["launched", await taken()]).toEqual(["launched", 200]);
      await act("gateway", "detach");
      await act("gateway", "attach", "--background");
      expect(["attached again", await taken()]).toEqual(["attached again", 200]);
      await act("relaunch");
      expect(["relaunched in place", await taken()]).toEqual(["relaunched in place", 200]);
      await act("stop");
      await act("relaunch");
      expect(["relaunched", await taken()]).toEqual(["relaunched", 200]);
      expect((await at.send("/etc/hostname")).status).toBe(422);
    },
    180_000,
  );
});

test("a person attaches one of their files, wherever it lies, but nothing of the kernel", async () => {
  await using at = await agentWithMail();
  const { fixture, outside } = at;
  const send = (path: string) =>
    fixture.mgr(
      ...single,
      "mail",
      "send",
      "--to",
      "worker@svc.localhost",
      "--subject",
      "s",
      "--body-content",
      "b",
      "--attach",
      path,
      "--json",
    );
  const done = await send(join(outside, "secret.txt"));
  expect([done.exitCode, done.json()["execution_path"]]).toEqual([0, "manager_direct"]);
  const near = await send(join(fixture.workdir, "report.txt"));
  expect([near.exitCode, near.json()["execution_path"]]).toEqual([0, "gateway_backed"]);
  expect((await send("/proc/self/environ")).exitCode).not.toBe(0);
  expect(at.stored().sort()).toEqual(["report", secret]);
}, 120_000);

describe("a file that is opened below a folder", () => {
  function setup() {
    const at = createScratch();
    for (const folder of ["work", "outside"]) mkdirSync(at.path(folder));
    writeFileSync(at.path("work/file"), "mine");
    writeFileSync(at.path("outside/file"), secret);
    return at;
  }
  const limits = (folder: string) => ({ maxBytes: 100, within: [folder] });

  test("is judged by where it lies, not by its name", () => {
    using at = setup();
    symlinkSync(at.path("outside"), at.path("work/away"));
    symlinkSync(at.path("work"), at.path("outside/back"));
    const open = (path: string) => openFile(at.path(path), limits(at.path("work")));
    expect(open("work/file")).toMatchObject({ ok: true, size: 4 });
    expect(open("outside/back/file")).toMatchObject({ ok: true });
    expect(open("work/away/file")).toEqual({ ok: false, why: "outside" });
    expect(open("outside/file")).toEqual({ ok: false, why: "outside" });
    expect([
      isBelow(at.path("work/away/file"), [at.path("work")]),
      isBelow(at.path("work/file"), [at.path("work")]),
    ]).toEqual([false, true]);
  });

  test("is the one that was open when it was judged, however often its folder is swapped", async () => {
    using at = setup();
    const work = at.path("work");
    const swapped = Bun.spawn(
      [
        "sh",
        "-c",
        'cd "$0"; mkdir work/in; ln work/file work/in/file; ln -s ../outside link; while :; do mv -T work/in work/in2 2>/dev/null; mv -T link work/in 2>/dev/null; mv -T work/in link 2>/dev/null; mv -T work/in2 work/in 2>/dev/null; done',
        at.folder,
      ],
      { stdout: "ignore", stderr: "ignore" },
    );
    try {
      let opened = 0;
      for (let attempt = 0; attempt < 20_000; attempt++) {
        const found = openFile(join(work, "in/file"), limits(work));
        if (!found.ok) continue;
        opened++;
        expect(readFileSync(found.handle, "utf8")).toBe("mine");
        closeSync(found.handle);
        if (opened >= 500) break;
      }
      expect(opened).toBeGreaterThan(0);
    } finally {
      swapped.kill("SIGKILL");
      await swapped.exited;
    }
  });
});
