import { expect, test } from "bun:test";
import { createControlConnection } from "../../../src/services/terminal/tmux/control.ts";
import { createExclusivePane } from "../../../src/services/terminal/tmux/exclusive-pane.ts";
import { createLauncher, respawnShell } from "../../../src/services/terminal/tmux/launch.ts";
import { createTmux, type TmuxFixture } from "../../support/tmux.ts";

const ATTACHES = 150;

/** Whether the server lives on when clients come and go while `act` is done again and again. */
async function survives(t: TmuxFixture, act: (round: number) => Promise<void>): Promise<boolean> {
  const pid = await t.run("display-message", "-p", "-t", "agent", "#{pid}");
  let attaching = true;

  async function acts(): Promise<void> {
    for (let round = 0; attaching; round++) await act(round);
  }

  async function attaches(): Promise<void> {
    for (let round = 0; round < ATTACHES; round++) {
      const control = createControlConnection({ ...t, session: "agent", log: () => {} });
      control.start();
      await control.whenConnected(10_000);
      await control.stop();
    }
  }

  const acting = acts();
  try {
    await attaches();
  } finally {
    attaching = false;
    await acting;
  }
  return (await t.run("display-message", "-p", "-t", "agent", "#{pid}")) === pid;
}

/** As somebody who scrolls back, at a moment that is not the point here. */
const scrollBack = (t: TmuxFixture, paneId: string) =>
  t.tmux.run([["copy-mode", "-t", paneId]], { exclusive: true });

test("a server whose clients attach and leave while sessions begin and end does not crash", async () => {
  await using t = await createTmux();
  await t.newSession("agent", ["sleep", "3600"]);
  const survived = await survives(t, async (round) => {
    await t.tmux.run([["new-session", "-d", "-s", `s${round}`, "sleep 60"]], { exclusive: true });
    await t.tmux.killSession("test", `s${round}`);
  });
  expect(survived).toBe(true);
}, 120_000);

test("nor does one whose panes are taken out of copy mode to be typed into", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("agent", ["sleep", "3600"]);
  const control = await t.control("agent");
  const exclusivePane = createExclusivePane({ ...t, control, paneId: () => paneId });
  const survived = await survives(t, async () => {
    await scrollBack(t, paneId);
    await exclusivePane.exclusive((pane) => pane.leaveMode());
  });
  expect(survived).toBe(true);
}, 120_000);

test("nor does one whose panes get another program while they are in copy mode", async () => {
  await using t = await createTmux();
  const { paneId } = await t.newSession("agent", ["sleep", "3600"]);
  const launcher = createLauncher(t);
  const survived = await survives(t, async (round) => {
    await scrollBack(t, paneId);
    if (round % 2 === 0) await respawnShell(t.tmux, paneId);
    else await launcher.respawn(paneId, { command: ["sleep", "3600"], workdir: t.folder, env: {} });
  });
  expect(survived).toBe(true);
}, 120_000);
