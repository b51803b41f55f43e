import type { RegistryRecord } from "../../protocol/files.ts";
import { openMailRoot } from "../../services/mail/filesystem/root.ts";
import { findRecord, isRunning, openRecord } from "../../services/sessions/find.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { skillTools } from "../../services/skills/ownership.ts";
import { readOfflineRequests } from "../../services/status/project.ts";
import { type CliContext, openCliContext } from "./cli-context.ts";
import type { Caller, Candidate, CliIo, OfferedValues, ProgramOffers } from "./command.ts";

/**
 * The values that this machine knows. Reads the registry and the mailbox root as they are, and asks no
 * process.
 */
export async function liveValues(
  io: CliIo,
  what: OfferedValues,
  given: Readonly<Record<string, string>>,
  offers: ProgramOffers | undefined,
): Promise<Candidate[]> {
  const context = openCliContext(io, given);
  switch (what) {
    case "agent-names":
      return agents(context).map(toNamed);
    case "running-agents":
      return agents(context).filter(isRunning).map(toNamed);
    case "running-agents-and-groups":
      return [
        ...agents(context).filter(isRunning).map(toNamed),
        ...(await groupNames(offers, { io, inherited: given })),
      ];
    case "agent-ids":
      return agents(context).map(({ agent_id, agent_name }) => ({
        value: agent_id,
        description: agent_name,
      }));
    case "addresses":
      return addresses(context, given["mailbox-root"]);
    case "messages":
      return (await offers?.messages({ io, inherited: given })) ?? [];
    case "request-ids":
      return requests(context, given);
    case "tools":
      return context.tools.map(({ tool }) => ({ value: tool, description: "" }));
    case "skill-tools":
      return skillTools.map((tool) => ({ value: tool, description: "" }));
  }
}

const toNamed = ({ agent_name, identity, lifecycle }: RegistryRecord): Candidate => ({
  value: agent_name,
  description: `${identity.tool}, ${lifecycle.state}`,
});

/** None where no team's file is, and where it cannot be read. */
async function groupNames(offers: ProgramOffers | undefined, caller: Caller): Promise<Candidate[]> {
  const names = (await offers?.groups(caller).catch(() => [])) ?? [];
  return names.map((name) => ({ value: `@${name}`, description: "group of svc.yaml" }));
}

/**
 * Of the newest requests of the agent that the line names, from the file of its queue; the newest one first.
 */
function requests(context: CliContext, given: Readonly<Record<string, string>>): Candidate[] {
  const [agentName, agentId] = [given["agent-name"], given["agent-id"]];
  if (agentName === undefined && agentId === undefined) return [];
  const record = findRecord(context, agentId === undefined ? { agentName: agentName ?? "" } : { agentId });
  const { queue } = sessionPaths(openRecord(context.files, record).sessionRoot);
  if (!context.files.exists(queue)) return [];
  return readOfflineRequests(queue, { limit: maxRequests }, { why: "" }).map(
    ({ request_id, request_kind, accepted_at_utc }) => ({
      value: request_id,
      description: `${request_kind}, accepted ${accepted_at_utc.slice(0, 19).replace("T", " ")} UTC`,
    }),
  );
}

const maxRequests = 100;

/** Those that run first. */
function agents({ registry }: CliContext) {
  const { records } = registry.list();
  const runs = (record: (typeof records)[number]) => Number(record.lifecycle.state !== "active");
  return records.toSorted((left, right) => runs(left) - runs(right));
}

function addresses(context: CliContext, mailboxRoot: string | undefined): Candidate[] {
  const bound = context.registry
    .list()
    .records.flatMap(({ mailbox, agent_name }) =>
      mailbox ? [{ value: mailbox.address, description: agent_name }] : [],
    );
  return [...bound, ...registered(context, mailboxRoot ?? context.roots.mailboxRoot)];
}

/** Nothing where there is no mailbox root: looking must not make one. */
function registered(context: CliContext, folder: string | null): Candidate[] {
  if (folder === null || !context.files.exists(folder)) return [];
  const root = openMailRoot(context, folder);
  try {
    return root.registrations
      .list()
      .filter(({ status }) => status === "active")
      .map((one) => ({ value: one.address, description: one.owner_principal_id }));
  } finally {
    root.close();
  }
}
