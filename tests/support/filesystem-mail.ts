import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import type { FakeMail } from "./fake-mailbox.ts";
import { createMailRootLab } from "./mail-root.ts";

/** Mailboxes below a root of its own on the real file system, in the place of those in memory. */
export function createFilesystemMail(): FakeMail & Disposable {
  const lab = createMailRootLab();
  const opened = new Map<string, Mailbox>();
  let failure: Error | null = null;

  /** Rejects while a failure is set, as the carrier would. */
  const guarded = (mailbox: Mailbox): Mailbox =>
    new Proxy(mailbox, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function" || !failure) return value;
        return () => Promise.reject(failure);
      },
    });

  return {
    open(address) {
      const mailbox = opened.get(address) ?? guarded(lab.mailbox(address.split("@", 1)[0] ?? ""));
      opened.set(address, mailbox);
      return mailbox;
    },
    failWith(error) {
      failure = error;
    },
    [Symbol.dispose]: () => lab[Symbol.dispose](),
  };
}
