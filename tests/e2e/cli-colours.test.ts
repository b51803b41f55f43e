import { expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const csi = "\u001b";

test("colours are for terminals: never in a pipe, nor where NO_COLOR says so, and in a pipe by FORCE_COLOR", async () => {
  await using fixture = createCliFixture();
  const line = fixture
    .command("svc-mgr")
    .map((word) => `'${word}'`)
    .join(" ");
  await fixture.startSession("person", ["sh"]);
  /** What stands on the screen, with its colours, once the command has ended. */
  const shown = async (command: string) => {
    await fixture.tmux("send-keys", "-t", "=person:", `clear; ${command}; echo "that is"" all"`, "Enter");
    const plain = () => fixture.tmux("capture-pane", "-p", "-t", "=person:");
    await until("the end of the command", async () => /^that is all$/m.test(await plain()));
    const coloured = await fixture.tmux("capture-pane", "-p", "-e", "-t", "=person:");
    await fixture.tmux("send-keys", "-t", "=person:", "clear", "Enter");
    await until("an empty screen", async () => !(await plain()).includes("that is all"));
    return coloured;
  };
  expect(await shown(`${line} agents nonsense`)).toContain(`${csi}[31mError:`);
  expect(await shown(`NO_COLOR=1 ${line} agents nonsense`)).not.toContain(`${csi}[31m`);
  expect(await shown(`TERM=dumb ${line} agents nonsense`)).not.toContain(`${csi}[31m`);
  expect(await shown(`${line} tools --help`)).toContain(`${csi}[1mUsage:`);
  expect(await shown(`${line} agents nonsense --json`)).not.toContain(csi);
  expect(await shown(`${line} doctor | head -n 3`)).not.toContain(csi);

  const piped = await fixture.mgr("doctor");
  expect(piped.stdout).not.toContain(csi);
  const forced = await fixture.run("svc-mgr", ["doctor"], { env: { ...fixture.env, FORCE_COLOR: "1" } });
  expect(forced.stdout).toContain(`${csi}[32mok${csi}[0m  `);
  const both = await fixture.run("svc-mgr", ["doctor"], {
    env: { ...fixture.env, FORCE_COLOR: "1", NO_COLOR: "1" },
  });
  expect(both.stdout).not.toContain(csi);
  const json = await fixture.run("svc-mgr", ["doctor", "--json"], {
    env: { ...fixture.env, FORCE_COLOR: "1" },
  });
  expect(json.stdout).not.toContain(csi);
}, 120_000);
