import { expect, test } from "bun:test";
import { endStrayClients } from "../../../src/services/terminal/tmux/command.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

test("only control clients that attached in a gateway's way to this very session are ended", async () => {
  await using fixture = await createTmux();
  const processes = createProcesses({ steps: quietSteps });
  const { tmux, mutex } = fixture;
  const attach = (session: string, flags: string) =>
    processes.pipe([
      "tmux",
      "-S",
      fixture.socket,
      "-N",
      "-C",
      "attach-session",
      "-f",
      flags,
      "-t",
      `=${session}`,
    ]);
  for (const name of ["one", "one-more"])
    await fixture.tmux.run([["new-session", "-d", "-s", name, "sleep", "60"]]);
  const stray = attach("one", "ignore-size,no-output");
  const neighbour = attach("one-more", "ignore-size,no-output");
  const person = attach("one", "ignore-size");
  await until("all are attached", async () => {
    const listed = await fixture.tmux.run([["list-clients", "-F", "#{client_pid}"]]);
    return listed.length === 3;
  });

  expect(await endStrayClients({ tmux, mutex, processes }, "one")).toEqual([stray.pid]);
  await stray.exited;
  expect([neighbour, person].map(({ pid }) => processes.alive(pid))).toEqual([true, true]);
  expect(await endStrayClients({ tmux, mutex, processes }, "gone")).toEqual([]);
});

test("a client that leaves by itself while its turn is awaited is not ended by its id, which others may have", async () => {
  await using fixture = await createTmux();
  await fixture.newSession("one", ["sleep", "60"]);
  const attach = ["-N", "-C", "attach-session", "-f", "ignore-size,no-output", "-t", "=one"];
  const leaving = fixture.processes.pipe(["tmux", "-u", "-S", fixture.socket, ...attach]);
  await until("it is attached", async () => (await fixture.run("list-clients")) !== "");
  const mutex = {
    async take() {
      leaving.closeInput();
      await leaving.exited;
      return () => {};
    },
  };
  const signalled: number[] = [];
  const signal = (pid: number) => signalled.push(pid) > 0;
  const processes = { ...fixture.processes, signal };
  expect(await endStrayClients({ tmux: fixture.tmux, mutex, processes }, "one")).toEqual([]);
  expect(signalled).toEqual([]);
});
