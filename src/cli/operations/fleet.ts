import type { RegistryRecord } from "../../protocol/files.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { findOrphans, type Orphan } from "../../services/sessions/orphans.ts";
import type { Registry } from "../../services/sessions/registry.ts";
import { lookAtAgents } from "../agent/look-at-agents.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import type { Caller } from "../command-line/command.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";

/** What the record of a listed agent says of it. */
export const listedStates = ["active", "stopped", "relaunching", "retired", "all"] as const;
export type ListedState = (typeof listedStates)[number];

export interface ListedAgents {
  context: CliContext;
  snapshots: AgentSnapshot[];
  /** Of people. */
  mail: readonly PersonMail[];
  /** Sessions without a record that can be used. */
  orphans: Orphan[];
  /** Records that cannot be used. */
  ignored: ReturnType<Registry["list"]>["ignored"];
}

/** The agents of this user and what each does, with the mail of people. */
export async function listAgents({ io, inherited }: Caller, state: ListedState): Promise<ListedAgents> {
  const context = openCliContext(io, inherited);
  const onWarning = (text: string) => void warn(io, text);
  const { records, ignored } = context.registry.list();
  // Asked while the agents are looked at.
  const lost = findOrphans({ ...context, runtimeRoot: context.roots.runtimeRoot }, records).catch(() => []);
  const [snapshots, mail] = await Promise.all([
    lookAtAgents({ context, onWarning }, records.filter(isIn(state))),
    openPeopleMail(context, onWarning, () => records).unread(),
  ]);
  return { context, snapshots, mail, orphans: await lost, ignored };
}

/** Their names alone, which needs no look at them. */
export function listAgentNames({ io, inherited }: Caller, state: ListedState): string[] {
  const { records } = openCliContext(io, inherited).registry.list();
  return [...new Set(records.filter(isIn(state)).map(({ agent_name: name }) => name))];
}

const isIn =
  (state: ListedState) =>
  ({ lifecycle }: RegistryRecord): boolean =>
    state === "all" || lifecycle.state === state;
