import type { MailboxBinding } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { MailboxOpener } from "./binding.ts";
import { createJmapClient } from "./jmap/client.ts";
import { readLogin } from "./jmap/credentials.ts";
import { createJmapMailbox } from "./jmap/mailbox.ts";
import { parseJmapUrl } from "./jmap/session.ts";

/** Opens mailboxes on mail servers. A binding can be acted on while the file with its login is there. */
export function createJmapOpener(deps: {
  clock: Clock;
  ids: Ids;
  files: Files;
  pollMs?: number;
}): MailboxOpener {
  const { files } = deps;
  return {
    open(binding) {
      const { jmap_url: url, credential_file: path } = binding;
      if (!url || !path) {
        throw new ServiceError("unsupported", "the binding names no jmap_url or no credential_file");
      }
      const { address, principal_id: principalId } = binding;
      const server = parseJmapUrl(url);
      const login = () => readLogin(files, { path, url: server, address });
      const client = createJmapClient({ clock: deps.clock, url: server, login });
      return createJmapMailbox({ ...deps, client, address, principalId });
    },
    obstacle({ address, credential_file: path }: MailboxBinding) {
      if (path && files.exists(path)) return null;
      return `the file with the login of ${address} is not there; \`mailbox register\` makes it`;
    },
    close() {},
  };
}
