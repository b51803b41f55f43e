import { resolve } from "node:path";
import { type Registered, type RegisterWish, registerMailbox } from "../services/mail/binding-register.ts";
import { initMailRoot, openMailRoot } from "../services/mail/filesystem/root.ts";
import { prepareMailboxRoot } from "../services/mail/mailbox-root.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { ServiceError } from "../system/errors.ts";
import type { CliIo, Flags } from "./command.ts";
import type { World } from "./world.ts";

/** Which root a mailbox is registered below. */
export const mailboxRootFlag = {
  "mailbox-root": {
    type: "string",
    description: "folder of the mailboxes; default: SVC_GLOBAL_MAILBOX_DIR, else .svc/mailbox of the project",
    valueHint: "DIR",
  },
} satisfies Flags;

/**
 * Registers a mailbox for an agent below the root that `flag`, the environment or the project names; the root is
 * made when it is not there (contract 4.5). Tells also what named it.
 */
export async function giveMailbox(
  world: World,
  io: Pick<CliIo, "cwd" | "env" | "home">,
  agent: FoundAgent,
  wish: RegisterWish & { rootFlag: string | undefined },
): Promise<Registered & { rootDetail: string }> {
  const { mailboxRoot, detail } = prepareMailboxRoot(world.files, {
    flag: wish.rootFlag === undefined ? undefined : resolve(io.cwd, wish.rootFlag),
    env: io.env,
    home: io.home,
    workdir: io.cwd,
  });
  const status = initMailRoot(world, mailboxRoot);
  if (status.error !== null) {
    throw new ServiceError("precondition_failed", `the mailbox root ${mailboxRoot}: ${status.error}`);
  }
  const root = openMailRoot(world, mailboxRoot);
  try {
    return { ...(await registerMailbox(world, agent, root, wish)), rootDetail: detail };
  } finally {
    root.close();
  }
}
