import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/** Of three, since one alone may meet a machine that stands still for a while. */
async function fastestMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 3; count++) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return Math.min(...times);
}

test("a list shows each agent on one line, and ? for one whose gateway hangs", async () => {
  await using fixture = createCliFixture();
  const launch = async (name: string, ...flags: string[]) => {
    const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--json"];
    return (await fixture.mgr(...words)).json() as { session_root: string; gateway_base_url: string };
  };
  const root = ["--mailbox", "--mailbox-root", join(fixture.folder, "mail")];
  const mailed = await launch("mailed", ...root);
  // In a window of tmux it would be woken at once.
  const hanging = await launch("hanging", "--gateway-background");
  await launch("plain", "--no-gateway", ...root);
  const one = (name: string, ...words: string[]) =>
    fixture.mgr("agents", "single", "--agent-name", name, ...words);
  for (const name of ["mailed", "plain"]) {
    const words = ["mail", "post", "--subject", "note", "--body-content", "text"];
    expect((await one(name, ...words)).exitCode).toBe(0);
  }
  expect((await one("mailed", "prompt", "--prompt", "hello", "--wait")).exitCode).toBe(0);
  await until("the turn to count as done", async () =>
    (await fixture.mgr("agents", "list")).stdout.includes("success"),
  );

  const instance = JSON.parse(
    readFileSync(join(hanging.session_root, "gateway", "run", "current-instance.json"), "utf8"),
  ) as { pid: number };
  const list = () => fixture.mgr("agents", "list");
  const whenAllAnswerMs = await fastestMs(list);
  process.kill(instance.pid, "SIGSTOP");
  try {
    expect((await fastestMs(list)) - whenAllAnswerMs).toBeLessThan(3500);
    // On a slow machine the living gateway may be late too.
    const lines = await until("a list that the living gateway answered in time", async () => {
      const text = (await list()).stdout.trimEnd();
      return /^mailed .* no answer/m.test(text) ? null : text.split("\n");
    });
    const line = (name: string) => lines.find((text) => text.startsWith(`${name} `)) ?? "";
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^NAME +ID +TOOL +STATE +AVAILABILITY +TURN +QUEUE +MAIL +LAST TURN +GATEWAY$/);
    expect(line("mailed")).toMatch(/ active +available +ready +0 +1 +success \d+s +http:/);
    expect(line("plain")).toMatch(/ active +available +unknown +0 +1 +- +-$/);
    expect(line("hanging")).toMatch(/ active +\? +\? +\? +\? +\? +no answer within 1.5 s$/);

    const agents = await until("the same as JSON", async () => {
      const { agents: all } = (await fixture.mgr("agents", "list", "--json")).json();
      const mailedOne = (all as Record<string, unknown>[]).find((one) => one["agent_name"] === "mailed");
      return mailedOne?.["answered"] === false ? null : all;
    });
    expect(agents).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          agent_name: "mailed",
          answered: true,
          unread_mail: 1,
          queue_depth: 0,
          last_turn: { result: "success", updated_at_utc: expect.any(String) },
          gateway_base_url: mailed.gateway_base_url,
        }),
        expect.objectContaining({ agent_name: "hanging", answered: false, availability: "unavailable" }),
      ]),
    );
  } finally {
    process.kill(instance.pid, "SIGCONT");
  }
  await until("the gateway to answer again", async () =>
    (await fixture.mgr("agents", "list")).stdout.match(/hanging .* available /),
  );
}, 120_000);
