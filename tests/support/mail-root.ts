import { defaultMailbox } from "../../src/services/mail/address.ts";
import {
  initMailRoot,
  type MailRoot,
  type MailRootDeps,
  openMailRoot,
} from "../../src/services/mail/filesystem/root.ts";
import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import { createLocks } from "../../src/system/locks.ts";
import type { Steps } from "../../src/system/steps.ts";
import { createSystem, type System } from "../../src/system/system.ts";
import { createScratch, type Scratch } from "./scratch.ts";

/** A mailbox root of its own on the real file system, removed at the end. */
export interface MailRootFixture extends Disposable {
  scratch: Scratch;
  deps: MailRootDeps;
  path: string;
  root: MailRoot;
  /** The mailbox `<name>@svc.localhost`, registered when it is first asked for. */
  mailbox(name: string): Mailbox;
  /** Another look at the same root, as another process has it. */
  reopen(): MailRoot;
  /**
   * Puts all mail on disk: what happens to a file from then on is no loss of power, which would be mended.
   */
  putOnDisk(): void;
}

export function mailRootDeps(
  options: {
    steps?: Steps;
    system?: Partial<System>;
    onMended?: (what: string) => void;
    onFault?: (what: string) => void;
  } = {},
): MailRootDeps {
  const system = { ...createSystem(options.steps), ...options.system };
  const { onMended, onFault } = options;
  return {
    ...system,
    locks: createLocks({ clock: system.clock }),
    ...(onMended ? { onMended } : {}),
    ...(onFault ? { onFault } : {}),
  };
}

export function createMailRootFixture(options: Parameters<typeof mailRootDeps>[0] = {}): MailRootFixture {
  const scratch = createScratch();
  const deps = mailRootDeps(options);
  const path = scratch.path("mailbox");
  initMailRoot(deps, path);
  const opened: { close(): void }[] = [];
  const reopen = () => {
    const root = openMailRoot(deps, path);
    opened.push(root);
    return root;
  };
  const root = reopen();
  return {
    scratch,
    deps,
    path,
    root,
    reopen,
    putOnDisk: () => openMailRoot(deps, path).close(),
    mailbox(name) {
      const binding = defaultMailbox(name);
      root.registrations.register({ ...binding, mode: "safe" });
      const mailbox = root.openMailbox(binding);
      opened.push(mailbox);
      return mailbox;
    },
    [Symbol.dispose]() {
      for (const one of opened.toReversed()) one.close();
      scratch[Symbol.dispose]();
    },
  };
}
