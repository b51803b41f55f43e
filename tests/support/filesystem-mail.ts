import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import type { FolderWatch } from "../../src/system/watch.ts";
import type { FakeMail } from "./fake-mailbox.ts";
import { createMailRootFixture, type MailRootFixture } from "./mail-root.ts";

const deaf: FolderWatch = { watchFolder: () => () => {} };

/**
 * Mailboxes below a root of its own on the real file system, in the place of those in memory. `rings`: mail
 * that comes is told, at a moment of the file system's choosing; default true.
 */
export function createFilesystemMail({
  rings = true,
} = {}): FakeMail & Disposable & Pick<MailRootFixture, "putOnDisk"> & { root: string } {
  const fixture = createMailRootFixture(rings ? {} : { system: { watch: deaf } });
  const opened = new Map<string, Mailbox>();
  let failure: Error | null = null;

  const always: (string | symbol)[] = ["onArrival", "close"];

  /** Rejects what is asked while a failure is set, as the carrier would. */
  const guarded = (mailbox: Mailbox): Mailbox =>
    new Proxy(mailbox, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function" || always.includes(key) || !failure) return value;
        return () => Promise.reject(failure);
      },
    });

  return {
    root: fixture.path,
    putOnDisk: fixture.putOnDisk,
    open(address) {
      const mailbox = opened.get(address) ?? guarded(fixture.mailbox(address.split("@", 1)[0] ?? ""));
      opened.set(address, mailbox);
      return mailbox;
    },
    failWith(error) {
      failure = error;
    },
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}
