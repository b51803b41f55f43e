import { afterAll, beforeAll, expect, test } from "bun:test";
import { jmapMailbox } from "../support/cyrus/mailboxes.ts";
import { type Cyrus, startCyrus } from "../support/cyrus/server.ts";
import { createScratch } from "../support/scratch.ts";
import { mailboxConformance } from "./mailbox-suite.ts";

let server: Cyrus | null = null;
let fixtures = 0;

// A machine without the server installs it here, once.
beforeAll(async () => {
  server = await startCyrus();
}, 600_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

mailboxConformance("a JMAP server", async () => {
  if (!server) throw new Error("the mail server was not started");
  const cyrus = server;
  fixtures += 1;
  const open = async (name: string) => jmapMailbox(cyrus, await cyrus.addAccount(`${name}-${fixtures}`));
  const scratch = createScratch();
  const [ada, ben, cleo] = await Promise.all([open("ada"), open("ben"), open("cleo")]);
  return {
    ada,
    ben,
    cleo,
    folder: scratch.folder,
    timeResolutionMs: 1000,
    async [Symbol.asyncDispose]() {
      for (const one of [ada, ben, cleo]) one.close();
      scratch[Symbol.dispose]();
    },
  };
});

test("a mailbox of a JMAP server declares what it can do", async () => {
  if (!server) throw new Error("the mail server was not started");
  const mailbox = jmapMailbox(server, { address: "ada@svc.localhost", password: "unused" });
  expect(mailbox.capabilities).toEqual({
    post: false,
    notify: false,
    search: false,
    refusesUnknownRecipients: false,
  });
});
