import { expect, test } from "bun:test";
import { createCliLab } from "../support/cli-lab.ts";
import { until } from "../support/until.ts";

const csi = "\u001b";

test("colours are for terminals: never in a pipe, nor where NO_COLOR says so, and in a pipe by FORCE_COLOR", async () => {
  await using lab = createCliLab();
  const line = lab
    .command("svc-mgr")
    .map((word) => `'${word}'`)
    .join(" ");
  await lab.startSession("person", ["sh"]);
  /** What stands on the screen, with its colours, once the command has ended. */
  const shown = async (command: string) => {
    await lab.tmux("send-keys", "-t", "=person:", `clear; ${command}; echo "that is"" all"`, "Enter");
    const plain = () => lab.tmux("capture-pane", "-p", "-t", "=person:");
    await until("the end of the command", async () => /^that is all$/m.test(await plain()));
    const coloured = await lab.tmux("capture-pane", "-p", "-e", "-t", "=person:");
    await lab.tmux("send-keys", "-t", "=person:", "clear", "Enter");
    await until("an empty screen", async () => !(await plain()).includes("that is all"));
    return coloured;
  };
  expect(await shown(`${line} agents nonsense`)).toContain(`${csi}[31mError:`);
  expect(await shown(`NO_COLOR=1 ${line} agents nonsense`)).not.toContain(`${csi}[31m`);
  expect(await shown(`TERM=dumb ${line} agents nonsense`)).not.toContain(`${csi}[31m`);
  expect(await shown(`${line} tools --help`)).toContain(`${csi}[1mUsage:`);
  expect(await shown(`${line} agents nonsense --json`)).not.toContain(csi);
  expect(await shown(`${line} doctor | head -n 3`)).not.toContain(csi);

  const piped = await lab.mgr("doctor");
  expect(piped.stdout).not.toContain(csi);
  const forced = await lab.run("svc-mgr", ["doctor"], { env: { ...lab.env, FORCE_COLOR: "1" } });
  expect(forced.stdout).toContain(`${csi}[32mok${csi}[0m  `);
  const both = await lab.run("svc-mgr", ["doctor"], {
    env: { ...lab.env, FORCE_COLOR: "1", NO_COLOR: "1" },
  });
  expect(both.stdout).not.toContain(csi);
  const json = await lab.run("svc-mgr", ["doctor", "--json"], { env: { ...lab.env, FORCE_COLOR: "1" } });
  expect(json.stdout).not.toContain(csi);
}, 120_000);
