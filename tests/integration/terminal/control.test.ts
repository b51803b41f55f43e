import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ControlConnection,
  type ControlEvent,
  createControlConnection,
} from "../../../src/services/terminal/tmux/control.ts";
import { panesOf } from "../../../src/services/terminal/tmux/pane-reader.ts";
import type { Clock } from "../../../src/system/clock.ts";
import type { Processes } from "../../../src/system/processes.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

function nextEvent(
  control: ControlConnection,
  wanted: (event: ControlEvent) => boolean,
): Promise<ControlEvent> {
  return new Promise((resolve) => {
    const stop = control.onEvent((event) => {
      if (!wanted(event)) return;
      stop();
      resolve(event);
    });
  });
}

const output = (control: ControlConnection, paneId: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = control.onOutput(paneId, () => {
      stop();
      resolve();
    });
  });

test("pipelined commands are answered in the order sent, errors in their place", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  const control = await t.control("a");
  const sent = Array.from({ length: 300 }, (_, index) =>
    control.run([index === 150 ? ["no-such-command"] : ["display-message", "-p", `answer ${index}`]]),
  );
  const answers = await Promise.allSettled(sent);
  expect(answers[150]).toMatchObject({ status: "rejected", reason: { kind: "refused" } });
  expect(String(answers[150]?.status === "rejected" && answers[150].reason)).toContain("unknown command");
  const rest = answers.flatMap((one, index) => (index === 150 ? [] : [one]));
  expect(rest.map((one) => one.status === "fulfilled" && one.value)).toEqual(
    [...Array(300).keys()].filter((index) => index !== 150).map((index) => [`answer ${index}`]),
  );
});

test("a screen that shows the marks of a reply does not end the reply", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("a", [
    "sh",
    "-c",
    "printf '%%end 1 2 1\\n%%exit\\n%%output %%0 x\\n'; cat",
  ]);
  const control = await t.control("a");
  await until("the text", async () => (await t.screen(paneId)).includes("%output"));
  const lines = await control.run([["capture-pane", "-p", "-t", paneId]]);
  expect(lines.slice(0, 3)).toEqual(["%end 1 2 1", "%exit", "%output %0 x"]);
  expect(lines.length).toBe(36);
  expect(await control.run([["display-message", "-p", "next"]])).toEqual(["next"]);
});

test("output of the pane is pushed, and only of the pane listened to", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("a", ["cat"]);
  const other = await t.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=a:", "--", "cat");
  const control = await t.control("a");
  let strayed = 0;
  control.onOutput(other, () => strayed++);
  const heard = output(control, paneId);
  await control.run([["send-keys", "-t", paneId, "-l", "--", "hello"]]);
  await heard;
  expect(strayed).toBe(0);
});

test("a connection nobody listens to asks tmux for no output", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("a", ["cat"]);
  const control = await t.control("a");
  const flags = async () =>
    (await control.run([["display-message", "-p", "#{client_flags}"]])).join().split(",");
  expect(await flags()).toContain("no-output");
  control.onOutput(paneId, () => {});
  expect(await flags()).not.toContain("no-output");
});

test("a listener may come and go while the pane writes, and commands are answered", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("a", ["sh", "-c", "while :; do seq 1 200; done"]);
  const control = await t.control("a");
  for (let round = 0; round < 20; round++) {
    const stop = control.onOutput(paneId, () => {});
    await control.run([["display-message"]]);
    stop();
    await control.run([["display-message"]]);
  }
  const heard = output(control, paneId);
  await heard;
});

test("a control client does not change the size of the window", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("a", ["cat"]);
  const control = await t.control("a");
  await control.run([["display-message", "-p", "#{client_flags}"]]);
  expect(await t.run("display-message", "-p", "-t", paneId, "#{window_width}x#{window_height}")).toBe(
    "120x36",
  );
  await control.stop();
  expect(await t.run("display-message", "-p", "-t", paneId, "#{window_width}x#{window_height}")).toBe(
    "120x36",
  );
});

test("a flood of output does not stall commands", async () => {
  await using t = await createTmux();
  const over = join(t.folder, "over");
  const flood = `read go; until [ -e '${over}' ]; do seq 1 20000; done; echo flood is over; cat`;
  const { paneId } = await t.newSession("a", ["sh", "-c", flood]);
  const control = await t.control("a");
  let pushes = 0;
  control.onOutput(paneId, () => pushes++);
  await control.run([["send-keys", "-t", paneId, "Enter"]]);
  const capture = async () => (await control.run([["capture-pane", "-p", "-t", paneId]])).join("\n");
  const times: number[] = [];
  while (times.length < 100 || pushes < 100) {
    const before = t.clock.monotonicMs();
    await capture();
    times.push(t.clock.monotonicMs() - before);
  }
  writeFileSync(over, "");
  await until("the end of the flood", async () => (await capture()).includes("flood is over"));
  // A machine that stands still for a moment delays the few commands of that moment.
  times.sort((left, right) => left - right);
  expect(times[Math.floor(times.length * 0.95)]).toBeLessThan(1000);
});

test("when the server dies all pending and later commands fail at once, and the connection comes back", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  const control = await t.control("a");
  const lost = nextEvent(control, (event) => event.kind === "lost");
  const server = Number(await t.run("display-message", "-p", "#{pid}"));
  // A server that stands still answers nothing: both commands are pending when it is killed.
  process.kill(server, "SIGSTOP");
  const pending = Promise.allSettled([control.run([["display-message"]]), control.run([["list-keys"]])]);
  process.kill(server, "SIGKILL");
  const refusal = { status: "rejected", reason: { kind: "lost" } };
  expect(await pending).toMatchObject([refusal, refusal]);
  // While it leaves, it refuses a session.
  await until("the server's end", () => !t.processes.alive(server));
  await lost;
  expect(control.connected()).toBe(false);
  expect(await awaitOutcome(control.run([["display-message", "-p", "later"]]))).toThrow(
    expect.objectContaining({ kind: "lost" }),
  );

  const back = nextEvent(control, (event) => event.kind === "connected");
  await t.startServer();
  const { paneId } = await t.newSession("a", ["cat"]);
  await back;
  const heard = output(control, paneId);
  await control.run([["send-keys", "-t", paneId, "-l", "--", "hello"]]);
  await heard;
});

test("a server that hangs is treated as lost, and found again when it goes on", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  // Ten seconds without an answer, told in a hundred milliseconds.
  const clock: Clock = { ...t.clock, after: (ms, run) => t.clock.after(ms === 10_000 ? 100 : ms, run) };
  const control = createControlConnection({ ...t, clock, session: "a", log: () => {} });
  control.start();
  await control.whenConnected(60_000);
  const server = Number(await t.run("display-message", "-p", "#{pid}"));
  process.kill(server, "SIGSTOP");
  const answer = await control.run([["display-message"]]).catch((error: unknown) => error);
  process.kill(server, "SIGCONT");
  expect(answer).toMatchObject({ kind: "lost", message: expect.stringContaining("no answer") });
  await control.whenConnected(60_000);
  expect(await control.run([["display-message", "-p", "again"]])).toEqual(["again"]);
  await control.stop();
});

test.each([
  "plain",
  "%foo",
  "%if",
  "%",
  "%1",
  "=x",
  "a;",
  ";",
  "",
  "{",
  "}",
  "~",
  "$1",
  "#{x}",
  "#",
  "-x",
  "a b",
  '"',
  "'",
  "\\",
  "é",
])("the word %j is heard as it is", async (word) => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  const control = await t.control("a");
  const set = ["set-option", "-g", "--", "@word", word];
  expect(await control.run([set, ["show-options", "-gv", "@word"]])).toEqual([word]);
});

test("the end of the session is reported at once with tmux's notice", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  await t.newSession("ab", ["cat"]);
  const control = await t.control("a");
  const lost = nextEvent(control, (event) => event.kind === "lost");
  await t.run("kill-session", "-t", "=a");
  await lost;
  expect(control.connected()).toBe(false);
  expect(await t.tmux.hasSession("ab")).toBe(true);
});

test("a missing session is not replaced by one whose name begins alike", async () => {
  await using t = await createTmux();
  await t.newSession("agent-10", ["cat"]);
  const control = createControlConnection({ ...t, session: "agent-1", log: () => {} });
  control.start();
  const event = await nextEvent(control, (one) => one.kind !== "notice");
  expect(event).toMatchObject({ kind: "lost", reason: expect.stringContaining("can't find session") });
  await control.stop();
});

// The value `0` is false in a condition of tmux.
test.each(["a", "0"])("a session %s that was renamed is found again, with its pane", async (session) => {
  await using t = await createTmux();
  const pane = await t.newSession(session, ["cat"]);
  await t.tmux.setMark("test", session, "mark");
  const currentName = () => t.tmux.currentName(session);
  const control = createControlConnection({ ...t, session, currentName, log: () => {} });
  control.start();
  await control.whenConnected(60_000);
  await t.run("rename-session", "-t", `=${session}`, "mine");
  expect((await t.tmux.sessions()).map(({ name }) => name)).toEqual([session]);
  expect(await panesOf({ control, tmux: t.tmux }, session)).toEqual([pane]);
  const lost = nextEvent(control, (event) => event.kind === "lost");
  await t.run("detach-client", "-s", "=mine");
  await lost;
  await control.whenConnected(60_000);
  expect(await panesOf({ control, tmux: t.tmux }, session)).toEqual([pane]);
  await control.stop();
});

test("stop leaves no process, and start and stop may be repeated", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  const clients: number[] = [];
  const control = await t.control("a", recordingPids(t.processes, clients));
  control.start();
  await control.stop();
  await control.stop();
  expect(clients.length).toBe(1);
  expect(t.processes.alive(clients[0] ?? -1)).toBe(false);
  expect(await t.run("list-clients")).toBe("");
  expect(await awaitOutcome(control.whenConnected(10))).toThrow(expect.objectContaining({ kind: "lost" }));
  control.start();
  await control.whenConnected(60_000);
  expect(await control.run([["display-message", "-p", "again"]])).toEqual(["again"]);
});

test("a connected and quiet connection has no timer", async () => {
  await using t = await createTmux();
  await t.newSession("a", ["cat"]);
  const timers = new Set<number>();
  const control = createControlConnection({
    ...t,
    clock: counting(t.clock, timers),
    session: "a",
    log: () => {},
  });
  control.start();
  await control.whenConnected(60_000);
  expect(timers.size).toBe(0);
  await control.stop();
});

function recordingPids(processes: Processes, pids: number[]): Processes {
  return {
    ...processes,
    pipe(...args) {
      const child = processes.pipe(...args);
      pids.push(child.pid);
      return child;
    },
  };
}

function counting(clock: Clock, live: Set<number>): Clock {
  let last = 0;
  return {
    ...clock,
    after(delayMs, run) {
      const id = ++last;
      live.add(id);
      const cancel = clock.after(delayMs, () => {
        live.delete(id);
        run();
      });
      return () => {
        live.delete(id);
        cancel();
      };
    },
  };
}
