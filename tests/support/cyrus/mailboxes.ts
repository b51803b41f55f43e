import { createJmapClient } from "../../../src/services/mail/jmap/client.ts";
import { createJmapMailbox } from "../../../src/services/mail/jmap/mailbox.ts";
import type { Mailbox } from "../../../src/services/mail/mailbox.ts";
import { createSystem } from "../../../src/system/system.ts";
import type { Cyrus, CyrusAccount } from "./server.ts";

/** The mailbox of an account over JMAP, as an agent of that address has it. */
export function jmapMailbox(
  { url }: Pick<Cyrus, "url">,
  { address, password }: CyrusAccount,
  options: { pollMs?: number; timeoutMs?: number } = {},
): Mailbox {
  const { clock, ids, files } = createSystem();
  const { pollMs = 100, timeoutMs = 30_000 } = options;
  const login = () => ({ identity: address, password });
  const client = createJmapClient({ clock, url, login, timeoutMs });
  const principalId = `SVC-${address.split("@", 1)[0]}`;
  return createJmapMailbox({ clock, ids, files, client, address, principalId, pollMs });
}
