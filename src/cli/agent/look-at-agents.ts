import type { RegistryRecord } from "../../protocol/files.ts";
import { toKnownAgent } from "../../services/fleet/directory.ts";
import { type AgentSnapshot, listSnapshots } from "../../services/fleet/fleet-list.ts";
import { createCommandReader } from "../../services/fleet/fleet-reader.ts";
import { createSessionsSeen } from "../../services/sessions/record.ts";
import { judgingFoldersOnce } from "../../services/sessions/trust.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { mailboxOpeners } from "../command-line/mailbox-openers.ts";

/** One look at these agents, in the process of the command. */
export async function lookAtAgents(
  { context, onWarning }: { context: CliContext; onWarning: (text: string) => void },
  records: readonly RegistryRecord[],
): Promise<AgentSnapshot[]> {
  const openers = mailboxOpeners(context, onWarning);
  const files = judgingFoldersOnce(context.files);
  const reader = createCommandReader({ ...context, files }, createSessionsSeen(context.tmuxFor));
  try {
    const agents = records.map((record) => toKnownAgent(files, record));
    return await listSnapshots({ reader, openers, clock: context.clock }, agents);
  } finally {
    for (const opener of Object.values(openers)) opener.close();
  }
}
