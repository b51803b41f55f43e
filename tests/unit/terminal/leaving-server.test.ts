import { expect, test } from "bun:test";
import { createTmux } from "../../../src/services/terminal/tmux/command.ts";
import { createProcesses, type Processes } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const leaving = { exitCode: 1, stdout: "", stderr: "server exited unexpectedly\n" };
const made = { exitCode: 0, stdout: "made\n", stderr: "" };

/** A tmux whose server refuses `times` callers, with one control client of ours among the processes. */
function refusing(times: number) {
  const clock = createFakeClock();
  const ended: number[] = [];
  let asked = 0;
  const processes: Processes = {
    ...createProcesses({ steps: quietSteps }),
    run: async () => (asked++ < times ? leaving : made),
    tree: async () =>
      [
        {
          pid: 7,
          argv: ["tmux", "-u", "-S", "/s", "-N", "-C", "attach-session", "-f", "ignore-size,no-output"],
        },
        { pid: 8, argv: ["tmux", "-u", "-S", "/other", "-N", "-C", "-f", "ignore-size,no-output"] },
        { pid: 9, argv: ["tmux", "-u", "-S", "/s", "attach-session"] },
      ] as Awaited<ReturnType<Processes["tree"]>>,
    signal: (pid) => ended.push(pid) > 0,
  };
  const mutex = { take: async () => () => {} };
  const tmux = createTmux({ processes, steps: quietSteps, clock, mutex, socket: "/s" });
  return { tmux, clock, ended, asked: () => asked };
}

test("a server that needs long to leave is waited for", async () => {
  const { tmux, clock, ended } = refusing(30);
  const run = tmux.run([["new-session"]], { startServer: true });
  await clock.advance(2000);
  expect(await run).toEqual(["made"]);
  expect(new Set(ended)).toEqual(new Set([7]));
});

test("one that does not leave is waited for 2 s", async () => {
  const { tmux, clock } = refusing(Number.POSITIVE_INFINITY);
  const run = tmux.run([["new-session"]], { startServer: true }).catch(String);
  await clock.advance(2000);
  expect(String(await run)).toContain("server exited unexpectedly");
});

test("nobody is ended for a server that leaves at once, nor by who may start none", async () => {
  const one = refusing(1);
  expect(await one.tmux.run([["new-session"]], { startServer: true })).toEqual(["made"]);
  const other = refusing(2);
  expect(String(await other.tmux.run([["kill-session"]]).catch(String))).toContain(
    "server exited unexpectedly",
  );
  expect([one.ended, other.ended, other.asked()]).toEqual([[], [], 1]);
});
