import type { MailboxStatusAnswer } from "../../../protocol/mailbox-admin.ts";
import { mailRootStatus } from "../../../services/mail/filesystem/root.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { meantRoot } from "./root.ts";

export default command({
  name: "status",
  description: "say which folder of mailboxes is meant and whether it is in order; changes nothing",
  examples: ["svc-mgr mailbox status", "svc-mgr mailbox status --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = meantRoot(invocation, { creates: false });
    const status = mailRootStatus(deps, root);
    const version = Number(status.protocol_version ?? Number.NaN);
    const answer: MailboxStatusAnswer = {
      ...heading,
      exists: status.exists,
      bootstrapped: status.bootstrapped,
      supported: status.supported,
      protocol_version: Number.isInteger(version) ? version : null,
      registration_counts: status.registration_counts,
      error: status.error,
    };
    const { active, inactive, stashed } = status.registration_counts;
    return {
      json: answer,
      text: renderPairs([
        ["mailboxes in", root],
        ["chosen", heading.mailbox_root_detail],
        ["status", status.error === null ? "ready" : status.exists ? "needs a look" : "not there yet"],
        ["trouble", status.error],
        ["registered", `${active} active, ${inactive} inactive, ${stashed} stashed`],
      ]),
      exitCode: status.exists && status.error !== null ? 1 : 0,
    };
  },
});
