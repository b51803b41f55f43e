import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTmux } from "../../../src/services/terminal/tmux/command.ts";
import { createTmuxMutex } from "../../../src/services/terminal/tmux/mutex.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createTmux as createFixture } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

test("a server that a killed gateway's client keeps from leaving is helped away", async () => {
  await using fixture = await createFixture();
  const { socket, processes, tmux } = fixture;
  await fixture.tmux.run([["new-session", "-d", "-s", "a", "sleep", "60"]]);
  const script = join(import.meta.dir, "../../support/deaf-gateway.ts");
  const deaf = Bun.spawn([process.execPath, script, socket], { stdin: "ignore", stdout: "pipe" });
  const said = await deaf.stdout.getReader().read();
  const client = Number(new TextDecoder().decode(said.value));
  const stateOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0];
  await until("it has stopped", () => stateOf(deaf.pid) === "T");
  const raw = async (...args: string[]) =>
    processes.run(["tmux", "-u", "-S", socket, "-N", ...args], { timeoutMs: 5000 });
  // The server looks after all its clients in one loop: meanwhile it has met what this one asked for.
  for (let turn = 0; turn < 20; turn++) await raw("has-session");
  deaf.kill("SIGKILL");
  await deaf.exited;
  const leaving = raw("kill-server");
  await until("the server refuses whoever comes", async () =>
    (await raw("has-session")).stderr.includes("server exited"),
  );
  expect((await raw("has-session")).stderr).toContain("server exited");

  await tmux.run([["new-session", "-d", "-s", "b", "sleep", "60"]], { startServer: true });
  expect(await tmux.hasSession("b")).toBe(true);
  expect(processes.alive(client)).toBe(false);
  await leaving;
});

test("a session can be made while the server of the last one is still leaving", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-leaving-"));
  const processes = createProcesses({ steps: quietSteps });
  const clock = createClock();
  const socket = join(folder, "tmux");
  const mutex = createTmuxMutex({ locks: createLocks({ clock }), clock }, socket);
  const tmux = createTmux({ processes, steps: quietSteps, clock, socket, mutex });
  try {
    for (let round = 0; round < 40; round++) {
      await tmux.run([["new-session", "-d", "-s", `s${round}`, "sleep 60"]], { startServer: true });
      expect(await tmux.killSession("test", `s${round}`)).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
