import { expect, test } from "bun:test";
import { toCaller } from "../../../src/cli/agent/target.ts";
import { type CommandCaller, command, group, UsageError } from "../../../src/cli/command-line/command.ts";
import { runProgram } from "../../../src/cli/command-line/dispatch.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createFakeIo } from "../../support/fake-io.ts";

const version = async () => ({ version: "1.2.3", commit: "abc1234", bun: "9.8.7" });
const io = createFakeIo();
const caller: CommandCaller = { io, inherited: { json: true }, path: ["svc", "find"] };

const long = command({
  name: "search",
  description: "searches",
  examples: ["prog search word"],
  args: {
    word: { type: "positional", description: "a word" },
    where: { type: "positional", required: false, description: "a place" },
    limit: { type: "string", default: "20", description: "how many" },
    since: { type: "string", description: "a time" },
    to: { type: "string", multiple: true, description: "an address" },
    order: { type: "enum", options: ["newest", "oldest"], default: "newest", description: "the order" },
    follow: { type: "boolean", description: "go on" },
  },
  run: async ({ args }) => ({ json: args, text: args.word }),
});

test.each<{ id: string; words: string[]; given: Parameters<typeof long.call>[1] }>([
  { id: "what is needed", words: ["x"], given: { word: "x" } },
  {
    id: "each flag",
    words: ["x", "y", "--limit=3", "--since=now", "--to=a", "--to=b", "--order=oldest", "--follow"],
    given: {
      word: "x",
      where: "y",
      limit: "3",
      since: "now",
      to: ["a", "b"],
      order: "oldest",
      follow: true,
    },
  },
  {
    id: "values that are undefined or false",
    words: ["x"],
    given: { word: "x", limit: undefined, since: undefined, follow: false },
  },
])("a call with $id is the command line of these words", async ({ words, given }) => {
  const called = await long.call(caller, given);
  const terminal = createFakeIo();
  const root = group({ name: "prog", description: "", examples: [], subCommands: { search: long } });
  expect(await runProgram(root, version, ["search", ...words, "--json"], terminal)).toBe(0);
  expect(JSON.parse(JSON.stringify(called.json))).toEqual(JSON.parse(terminal.out));
});

test("a call has no values but those of the command's flags", async () => {
  const given = { word: "x", name: "worker" };
  expect((await long.call(caller, given)).json).not.toHaveProperty("name");
});

test.each<{ id: string; error: Error; want: Error }>([
  {
    id: "of usage without a command",
    error: new UsageError("--limit is 0"),
    want: new UsageError("--limit is 0", ["svc", "find"]),
  },
  {
    id: "of usage of the called command",
    error: new UsageError("--limit is 0", ["prog", "search"]),
    want: new UsageError("--limit is 0", ["svc", "find"]),
  },
  {
    id: "of a service",
    error: new ServiceError("conflict", "taken"),
    want: new ServiceError("conflict", "taken"),
  },
])("an error $id reaches the caller, whose help it names", async ({ error, want }) => {
  const failing = command({
    name: "fail",
    description: "fails",
    examples: ["prog fail"],
    run: (): Promise<number> => Promise.reject(error),
  });
  const caught = await failing.call(caller, {}).catch((one: unknown) => one);
  expect(caught).toEqual(want);
  expect((caught as UsageError).path).toEqual((want as UsageError).path);
});

const asFlag = { "agent-name": "worker" };

test.each<{ id: string; given: Partial<CommandCaller>; want: unknown }>([
  { id: "the one whom the caller gives", given: { whom: { agentName: "a" } }, want: { agentName: "a" } },
  {
    id: "that one rather than a flag",
    given: { whom: { agentId: "id" }, inherited: asFlag },
    want: { agentId: "id" },
  },
  { id: "the one of a flag", given: { inherited: asFlag }, want: { agentName: "worker" } },
  { id: "its own", given: { path: ["svc-mgr", "agents", "self", "state"] }, want: "self" },
])("a command is about $id", ({ given, want }) => {
  const path = ["svc-mgr", "agents", "single", "state"];
  expect(toCaller({ io, inherited: {}, path, ...given }).whom).toEqual(want as never);
});

test("a command without an agent is refused", () => {
  expect(() => toCaller({ io, inherited: {}, path: ["svc-mgr"] })).toThrow("exactly one of --agent-name");
});
