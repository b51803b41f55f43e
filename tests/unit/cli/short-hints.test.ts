import { expect, test } from "bun:test";
import { toShortHints } from "../../../src/cli/command-line/short-hints.ts";

const one = "svc-mgr agents single --agent-name my-agent";

test.each([
  { long: "svc-mgr agents launch --tool demo --agent-name first", short: "svc new first demo" },
  { long: `prompt it:  ${one} prompt --prompt "..."`, short: 'prompt it:  svc ask my-agent "..."' },
  { long: `Start one with: ${one} gateway attach`, short: "Start one with: svc fix my-agent" },
  { long: `${one} gateway attach --reconcile.`, short: "svc fix my-agent." },
  { long: `with: ${one} gateway reconcile\nx`, short: "with: svc fix my-agent\nx" },
  { long: `${one} relaunch`, short: "svc restart my-agent" },
  { long: `\`${one} stop\` and ${one} attach`, short: "`svc stop my-agent` and svc attach my-agent" },
  { long: `${one} gateway tui decide --option 1`, short: "svc ok my-agent 1" },
  { long: "all of it: svc-mgr attention list", short: "all of it: svc attention list" },
  { long: "raise it with: svc-mgr budget set --agent a", short: "raise it with: svc budget set --agent a" },
  { long: "See: svc-mgr ledger --help", short: "See: svc ledger --help" },
  { long: "See: svc-mgr agents single record --help", short: "See: svc record --help" },
  { long: "See: svc-mgr doctor", short: "See: svc doctor" },
  { long: "svc-mgr mailbox register --address a@b", short: "svc mailbox register --address a@b" },
  { long: "`svc-mgr agents list --state all` shows all", short: "`svc agents list --state all` shows all" },
  {
    long: "the prompt is empty; give it with --prompt or on standard input",
    short: "the prompt is empty; give it as words or on standard input",
  },
  { long: "See your agents with: svc-mgr agents list", short: "See your agents with: svc ls" },
])("$short", ({ long, short }) => {
  expect(toShortHints(long)).toBe(short);
});

test.each([
  `${one} relaunch --reconcile`,
  `${one} gateway attach --port 0`,
  `${one} requests show gwreq-1`,
  "svc-mgr mail --address ann@svc.localhost list",
  "svc-mgr agents launch --tool demo --agent-name first --mailbox",
])("what svc cannot say stays: %s", (line) => {
  expect(toShortHints(line)).toBe(line);
});
