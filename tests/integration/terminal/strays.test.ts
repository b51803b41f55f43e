import { expect, test } from "bun:test";
import { endStrayClients } from "../../../src/services/terminal/tmux-strays.ts";
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
    await fixture.tmux.run(["new-session", "-d", "-s", name, "sleep", "60"]);
  const stray = attach("one", "ignore-size,no-output");
  const neighbour = attach("one-more", "ignore-size,no-output");
  const person = attach("one", "ignore-size");
  await until("all are attached", async () => {
    const listed = await fixture.tmux.run(["list-clients", "-F", "#{client_pid}"]);
    return listed.trim().split("\n").length === 3;
  });

  expect(await endStrayClients({ tmux, mutex, processes }, "one")).toEqual([stray.pid]);
  await stray.exited;
  expect([neighbour, person].map(({ pid }) => processes.alive(pid))).toEqual([true, true]);
  expect(await endStrayClients({ tmux, mutex, processes }, "gone")).toEqual([]);
});
