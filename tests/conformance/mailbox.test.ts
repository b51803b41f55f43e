import { createFakeMail } from "../support/fake-mailbox.ts";
import { createMailRootLab } from "../support/mail-root.ts";
import { createScratch } from "../support/scratch.ts";
import { mailboxConformance } from "./mailbox-suite.ts";

mailboxConformance("the file system", async () => {
  const lab = createMailRootLab();
  return {
    ada: lab.mailbox("ada"),
    ben: lab.mailbox("ben"),
    cleo: lab.mailbox("cleo"),
    folder: lab.scratch.folder,
    [Symbol.asyncDispose]: async () => lab[Symbol.dispose](),
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
