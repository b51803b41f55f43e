import { expect, test } from "bun:test";
import { toStation } from "../../../src/cli/command-line/parse.ts";
import { notifierCommands, wakesText } from "../../../src/cli/commands/agent/notifier.ts";
import { NotifierUpdate } from "../../../src/protocol/notifier.ts";
import { defaultNotifierConfig, toNotifierStatus } from "../../../src/services/notifier/config.ts";

/** `enabled` is the command itself; tokens are never words of a command line. */
const named: Record<string, string> = { notify_block_shared_tokens: "notify-block-token-file" };
const unneeded = ["schema_version", "enabled"];

test("whatever can be set over HTTP can be set from the command line", async () => {
  const { flags } = await toStation("enable", notifierCommands.enable);
  const fields = Object.keys(NotifierUpdate.properties).filter((field) => !unneeded.includes(field));
  const missing = fields.filter((field) => !Object.hasOwn(flags, named[field] ?? field.replaceAll("_", "-")));
  expect(missing).toEqual([]);
  expect(fields.length).toBeGreaterThan(10);
});

const noMailbox = { detail: "no mailbox", remedy: null };
const off = [{ reason: "disabled", detail: "the mail notifier is off" }] as const;

test.each([
  {
    id: "nothing of an agent without a mailbox",
    enabled: false,
    problem: noMailbox,
    obstacles: off,
    want: null,
  },
  {
    id: "that it is off",
    enabled: false,
    problem: null,
    obstacles: off,
    want: "does not wake the agent: the mail notifier is off",
  },
  { id: "that nothing is in the way", enabled: true, problem: null, obstacles: [], want: "wakes the agent" },
  {
    id: "that there was no mail",
    enabled: true,
    problem: null,
    obstacles: [{ reason: "empty", detail: "the last poll found no mail in the inbox" }] as const,
    want: "wakes the agent; the last poll found no mail in the inbox",
  },
  {
    id: "each thing that is",
    enabled: true,
    problem: null,
    obstacles: [
      { reason: "queue_depth", detail: "queue_depth=1" },
      { reason: "budget", detail: "6 of 5 tokens" },
    ] as const,
    want: "does not wake the agent: queue_depth=1; 6 of 5 tokens",
  },
])("whether mail wakes the agent says $id", ({ enabled, problem, obstacles, want }) => {
  const config = { ...defaultNotifierConfig, enabled };
  expect(wakesText(toNotifierStatus({ config, memory: null, problem, obstacles: [...obstacles] }))).toBe(
    want,
  );
  const { wake_obstacles: _, ...earlier } = toNotifierStatus({
    config,
    memory: null,
    problem,
    obstacles: [],
  });
  expect(wakesText(earlier)).toBeNull();
});
