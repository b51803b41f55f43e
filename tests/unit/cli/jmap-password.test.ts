import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { UsageError } from "../../../src/cli/command-line/command.ts";
import { giveJmapMailbox } from "../../../src/cli/commands/agent/mailbox.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createScratch } from "../../support/scratch.ts";

const flags = {
  url: "https://mail.example",
  loginIdentity: "w@mail.example",
  address: undefined,
  principalId: undefined,
};

test.each([
  {
    file: "secrets",
    error: UsageError,
    says: "--password-file: secrets is a folder, not a file: name a file",
  },
  { file: "nowhere", error: UsageError, says: "--password-file: there is no file nowhere" },
  { file: "empty", error: ServiceError, says: "--password-file: it is empty" },
])("--password-file $file is a usage error that says so", async ({ file, error, says }) => {
  using at = createScratch();
  mkdirSync(at.path("secrets"));
  writeFileSync(at.path("empty"), "\n");
  const io = { cwd: at.folder, readInput: async () => ({ ok: true, text: "" }) as const };
  const given = giveJmapMailbox({ files: at.files } as never, io, {} as never, {
    ...flags,
    passwordFile: file,
  });
  const thrown = await given.catch((reason: unknown) => reason);
  expect(thrown).toBeInstanceOf(error);
  expect((thrown as Error).message).toBe(says);
});
