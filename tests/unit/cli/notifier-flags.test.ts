import { expect, test } from "bun:test";
import { toStation } from "../../../src/cli/command-line/parse.ts";
import { notifierCommands } from "../../../src/cli/commands/agent/notifier.ts";
import { NotifierUpdate } from "../../../src/protocol/notifier.ts";

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
