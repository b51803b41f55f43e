import { openMailRoot } from "../services/mail/filesystem/root.ts";
import { skillTools } from "../services/skills/home.ts";
import type { Candidate, CliIo, OfferedValues } from "./command.ts";
import { openWorld, type World } from "./world.ts";

/** The values that this machine knows. Reads the registry and the mailbox root as they stand, and asks no process. */
export function liveValues(
  io: CliIo,
  what: OfferedValues,
  given: Readonly<Record<string, string>>,
): Candidate[] {
  const world = openWorld(io, given);
  switch (what) {
    case "agent-names":
      return agents(world).map(({ agent_name, identity, lifecycle }) => ({
        value: agent_name,
        description: `${identity.tool}, ${lifecycle.state}`,
      }));
    case "agent-ids":
      return agents(world).map(({ agent_id, agent_name }) => ({ value: agent_id, description: agent_name }));
    case "addresses":
      return addresses(world, given["mailbox-root"]);
    case "tools":
      return world.tools.map(({ tool }) => ({ value: tool, description: "" }));
    case "skill-tools":
      return skillTools.map((tool) => ({ value: tool, description: "" }));
  }
}

/** Those that run first. */
function agents({ registry }: World) {
  const { records } = registry.list();
  const runs = (record: (typeof records)[number]) => Number(record.lifecycle.state !== "active");
  return records.toSorted((left, right) => runs(left) - runs(right));
}

function addresses(world: World, mailboxRoot: string | undefined): Candidate[] {
  const bound = world.registry
    .list()
    .records.flatMap(({ mailbox, agent_name }) =>
      mailbox ? [{ value: mailbox.address, description: agent_name }] : [],
    );
  return [...bound, ...registered(world, mailboxRoot ?? world.roots.mailboxRoot)];
}

/** Nothing where there is no mailbox root: looking must not make one. */
function registered(world: World, folder: string | null): Candidate[] {
  if (folder === null || !world.files.exists(folder)) return [];
  const root = openMailRoot(world, folder);
  try {
    return root.registrations
      .list()
      .filter(({ status }) => status === "active")
      .map((one) => ({ value: one.address, description: one.owner_principal_id }));
  } finally {
    root.close();
  }
}
