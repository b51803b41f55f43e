import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTmux } from "../../../src/cli/command-line/tmux-socket.ts";
import { createSystem } from "../../../src/system/system.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createScratch } from "../../support/scratch.ts";
import { createTmux } from "../../support/tmux.ts";

/** As a manifest of a cloned repository names it, in the environment of its user. */
const open = (socket: string, env: Record<string, string> = {}) => openTmux(createSystem(), socket, env);

describe("a path of a manifest that is no socket of this user", () => {
  test.each([
    { id: "a file", make: (path: string) => writeFileSync(path, "precious") },
    { id: "a folder", make: (path: string) => mkdirSync(path) },
    { id: "a link to nothing", make: (path: string) => symlinkSync("nowhere", path) },
    { id: "nothing", make: () => {} },
  ])("gets no lock beside it where $id is", async ({ make }) => {
    using at = createScratch();
    make(at.path("thing"));
    const before = readdirSync(at.folder);
    const { mutex } = open(at.path("thing"));
    (await mutex.take())();
    (await mutex.take({ brief: true }))();
    expect(readdirSync(at.folder)).toEqual(before);
  });

  test("is not replaced by a server: none is there", async () => {
    using at = createScratch();
    const path = at.path("diary");
    writeFileSync(path, "precious");
    const { tmux } = open(path);
    expect(await awaitOutcome(tmux.run([["new-session", "-d", "sleep 60"]], { startServer: true }))).toThrow(
      `${path} is no tmux socket of this user`,
    );
    expect([await tmux.sessions(), await tmux.killSession("test", "any")]).toEqual([[], false]);
    expect([readdirSync(at.folder), readFileSync(path, "utf8")]).toEqual([["diary"], "precious"]);
  });

  test("gets no lock by a name that leads out of tmux's folder", async () => {
    using at = createScratch();
    const { mutex } = open("../thing", { TMUX_TMPDIR: at.folder });
    (await mutex.take())();
    expect(readdirSync(at.folder)).toEqual([]);
  });
});

test.each([
  { id: "a path", given: (long: string) => [join(long, "socket"), {}] as const, remedy: "SVC_TMUX_SOCKET" },
  { id: "a name", given: (long: string) => ["mine", { TMUX_TMPDIR: long }] as const, remedy: "TMUX_TMPDIR" },
  {
    id: "the default",
    given: (long: string) => [undefined, { TMUX_TMPDIR: long }] as const,
    remedy: "TMUX_TMPDIR",
  },
])("$id that is too long for a socket is refused with the remedy", async ({ given, remedy }) => {
  using at = createScratch();
  const long = at.path("x".repeat(120));
  mkdirSync(long);
  const [socket, env] = given(long);
  const { tmux, refusal } = openTmux(createSystem(), socket, env);
  expect(refusal()).toMatch(/has \d+ bytes, and a socket takes at most \d+/);
  const start = tmux.run([["new-session", "-d", "sleep 60"]], { startServer: true });
  expect(await awaitOutcome(start)).toThrow(`set ${remedy}`);
  expect(await tmux.sessions()).toEqual([]);
});

test("a server that runs is locked by its path, one that the environment names also before", async () => {
  await using running = await createTmux();
  await running.newSession("a", ["sleep", "60"]);
  const { tmux, mutex } = open(running.socket);
  expect(await tmux.hasSession("a")).toBe(true);
  const release = await mutex.take();
  expect(readdirSync(running.folder)).toContain("socket.svc-lock");
  release();
  const named = join(running.folder, "later");
  const release2 = await open(named, { SVC_TMUX_SOCKET: named }).mutex.take();
  expect(readdirSync(running.folder)).toContain("later.svc-lock");
  release2();
});
