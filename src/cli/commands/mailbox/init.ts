import { join } from "node:path";
import type { MailboxInitAnswer } from "../../../protocol/mailbox-admin.ts";
import { initMailRoot } from "../../../services/mail/filesystem/root.ts";
import { ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { meantRoot } from "./root.ts";

export default command({
  name: "init",
  description: "make the folder of the mailboxes ready; doing it again changes nothing",
  examples: ["svc-mgr mailbox init", "svc-mgr mailbox init --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = meantRoot(invocation, { creates: true });
    const status = initMailRoot(deps, root);
    if (status.error !== null) throw new ServiceError("precondition_failed", status.error);
    const answer: MailboxInitAnswer = {
      ...heading,
      bootstrapped: status.bootstrapped,
      supported: status.supported,
      protocol_version: Number(status.protocol_version),
      sqlite_path: status.sqlite_path,
      rules_dir: join(root, "rules"),
      mailboxes_dir: status.mailboxes_dir,
      status: "ready",
    };
    return {
      json: answer,
      text: [
        renderPairs([
          ["mailboxes in", root],
          ["chosen", heading.mailbox_root_detail],
          ["status", "ready"],
        ]),
        "",
        "Next: svc-mgr mailbox register --address NAME@svc.localhost --principal-id SVC-NAME",
      ].join("\n"),
    };
  },
});
