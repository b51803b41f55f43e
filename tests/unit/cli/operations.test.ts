import { expect, test } from "bun:test";
import type { CliIo } from "../../../src/cli/command-line/command.ts";
import { CommandFailure, exitCodes } from "../../../src/cli/command-line/dispatch.ts";
import { adviseInManager, managerSentence } from "../../../src/cli/command-line/remedies.ts";
import { adviseInShort, inShortTerms } from "../../../src/cli/command-line/short-remedies.ts";
import { outcomeOf, withoutTerminal } from "../../../src/cli/operations/outcome.ts";
import { ServiceError } from "../../../src/system/errors.ts";

test.each<{ id: string; operation: () => Promise<unknown>; want: object }>([
  { id: "a value", operation: async () => 7, want: { ok: true, value: 7 } },
  {
    id: "a refusal of the command line, with its document",
    operation: () =>
      Promise.reject(new CommandFailure(exitCodes.unreachable, "gone", { error: "unreachable" })),
    want: { ok: false, exitCode: 3, detail: "gone", document: { error: "unreachable" } },
  },
  {
    id: "a refusal of a service, with its data",
    operation: () => Promise.reject(new ServiceError("conflict", "taken", { data: { agent_id: "a" } })),
    want: { ok: false, exitCode: 1, detail: "taken", document: { error: "conflict", agent_id: "a" } },
  },
  {
    id: "a fault",
    operation: () => Promise.reject(new Error("broken")),
    want: { ok: false, exitCode: 1, detail: "broken", document: { error: "internal" } },
  },
])("an operation's outcome: $id", async ({ operation, want }) => {
  expect(await outcomeOf(operation, adviseInManager)).toMatchObject(want);
});

test("an operation that a server refused says what can be done in the terms of the program", async () => {
  const remedy = { code: "reconcile_queue", agent_name: "worker" } as const;
  const detail = `its queue is closed. ${managerSentence(remedy)}`;
  const refusal = new CommandFailure(exitCodes.refused, detail, { detail, remedy });
  expect(await outcomeOf(() => Promise.reject(refusal), adviseInShort)).toMatchObject({
    detail: "its queue is closed. Open it with: svc fix worker",
    document: { detail },
  });
});

test("the silent process of an operation keeps the environment of a process that svc wraps", async () => {
  const written: string[] = [];
  const stopped = new AbortController();
  const io = {
    env: { HOME: "/home/user" },
    cwd: "/project",
    home: "/home/user",
    interrupted: () => stopped.signal,
    writeError: async (text: string) => void written.push(text),
  } as unknown as CliIo;
  const silent = withoutTerminal(inShortTerms(io));
  await silent.writeError("a warning");
  expect(silent).toMatchObject({
    env: io.env,
    cwd: "/project",
    home: "/home/user",
    stdinIsTty: false,
    program: "svc",
  });
  expect([silent.interrupted(), written]).toEqual([stopped.signal, []]);
});
