import { expect, test } from "bun:test";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";

interface Ended {
  exitCode: number | null;
  stderr: string;
  /**
   * Of what the shell became, or of this process where that is more: the system begins with the memory of the
   * parent.
   */
  peakBytes: number;
}

const maxPeakBytes = 300e6;

/** One of our command lines in bash, ended after a time in which endless input would take gigabytes. */
async function typed(fixture: CliFixture, line: string): Promise<Ended> {
  const words = fixture.command("svc-mgr").map((word) => `"${word}"`);
  const shell = Bun.spawn({
    cmd: ["bash", "-c", line.replace("svc-mgr", words.join(" "))],
    cwd: fixture.workdir,
    env: fixture.env,
    stdout: "ignore",
    stderr: "pipe",
    timeout: 20_000,
    killSignal: "SIGKILL",
  });
  const stderr = await new Response(shell.stderr).text();
  await shell.exited;
  return { exitCode: shell.exitCode, stderr, peakBytes: shell.resourceUsage()?.maxRSS ?? Number.NaN };
}

test("input without an end is refused at the limit, and no input at all before a message is sent", async () => {
  await using fixture = createCliFixture();
  const address = "alice@svc.localhost";
  expect((await fixture.mgr("mailbox", "init", "--mailbox-root", `${fixture.folder}/mail`)).exitCode).toBe(0);
  const register = ["mailbox", "register", "--mailbox-root", `${fixture.folder}/mail`, "--address", address];
  expect((await fixture.mgr(...register, "--principal-id", "SVC-alice")).exitCode).toBe(0);

  const send = `exec svc-mgr mail --address ${address} --mailbox-root "${fixture.folder}/mail" send --to ${address} --subject hi`;
  const single = "exec svc-mgr agents single --agent-name worker";
  const launch = "exec svc-mgr agents launch --tool demo --agent-name worker";
  const device = "is a device, not a file";
  const large = "is larger than 8 MiB";
  const refused = [
    { line: `${send} --body-file /dev/zero`, says: `--body-file: /dev/zero ${device}` },
    { line: `${send} --body-file <(yes)`, says: large },
    { line: `${send} < /dev/zero`, says: `standard input ${device}` },
    { line: `${send} < <(yes)`, says: `standard input ${large}` },
    { line: `${send} < /dev/null`, says: "standard input is empty" },
    { line: `${single} prompt < /dev/urandom`, says: `standard input ${device}` },
    { line: `${single} prompt < <(yes)`, says: `standard input ${large}` },
    { line: `${single} prompt < .`, says: "standard input is a folder" },
    { line: `${single} gateway prompt < <(yes)`, says: `standard input ${large}` },
    { line: `${single} turn submit < <(yes)`, says: `standard input ${large}` },
    { line: `${launch} --role-file /dev/zero`, says: `--role-file: /dev/zero ${device}` },
    { line: "exec svc-mgr tools explain --tool demo --screen /dev/zero", says: device },
    { line: "exec svc-mgr tools explain --tool demo --screen - < <(yes)", says: large },
  ];
  for (const { line, says } of refused) {
    const ended = await typed(fixture, line);
    expect([line, ended.exitCode, ended.stderr]).toEqual([line, 2, expect.stringContaining(says)]);
    const { peakBytes: atLeast } = await typed(fixture, "exec true");
    expect(ended.peakBytes).toBeLessThan(Math.max(maxPeakBytes, 1.1 * atLeast));
  }
  expect((await typed(fixture, `${send} --body-file <(echo hello)`)).exitCode).toBe(0);
  const listed = await fixture.mgr(
    "mailbox",
    "messages",
    "list",
    "--mailbox-root",
    `${fixture.folder}/mail`,
    "--address",
    address,
    "--json",
  );
  expect(listed.json()["messages"]).toHaveLength(1);
}, 120_000);
