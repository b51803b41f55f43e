import { expect, test } from "bun:test";
import { createControlConnection } from "../../../src/services/terminal/tmux-control.ts";
import { createTmux } from "../../support/tmux.ts";

const ATTACHES = 150;

test("a server whose clients attach and leave while sessions begin and end does not crash", async () => {
  await using t = await createTmux();
  await t.newSession("agent", ["sleep", "3600"]);
  const pid = await t.run("display-message", "-p", "-t", "agent", "#{pid}");
  let attaching = true;

  async function sessions(): Promise<void> {
    for (let round = 0; attaching; round++) {
      await t.tmux.run(["new-session", "-d", "-s", `s${round}`, "sleep 60"], {
        exclusive: true,
      });
      await t.tmux.killSession("test", `s${round}`);
    }
  }

  async function attaches(): Promise<void> {
    for (let round = 0; round < ATTACHES; round++) {
      const control = createControlConnection({ ...t, session: "agent", log: () => {} });
      control.start();
      await control.whenConnected(10_000);
      await control.stop();
    }
  }

  const making = sessions();
  try {
    await attaches();
  } finally {
    attaching = false;
    await making;
  }
  expect(await t.run("display-message", "-p", "-t", "agent", "#{pid}")).toBe(pid);
}, 120_000);
