import { createFakeMail } from "../support/fake-mailbox.ts";
import { createMailRootFixture } from "../support/mail-root.ts";
import { createScratch } from "../support/scratch.ts";
import { mailboxConformance } from "./mailbox-suite.ts";

mailboxConformance("the file system", async () => {
  const fixture = createMailRootFixture();
  return {
    ada: fixture.mailbox("ada"),
    ben: fixture.mailbox("ben"),
    cleo: fixture.mailbox("cleo"),
    folder: fixture.scratch.folder,
    [Symbol.asyncDispose]: async () => fixture[Symbol.dispose](),
  };
});

mailboxConformance("the fake", async () => {
  const mail = createFakeMail();
  const scratch = createScratch();
  return {
    ada: mail.open("ada@svc.localhost"),
    ben: mail.open("ben@svc.localhost"),
    cleo: mail.open("cleo@svc.localhost"),
    folder: scratch.folder,
    [Symbol.asyncDispose]: async () => scratch[Symbol.dispose](),
  };
});
