import type { RegistryRecord } from "../../protocol/files.ts";
import { readDesiredConfig } from "../../services/sessions/desired-config.ts";
import { adoptOrphan, findOrphans, type Orphan } from "../../services/sessions/orphans.ts";
import { judgeRecord } from "../../services/sessions/record.ts";
import { tmuxEndLine } from "../../services/terminal/tmux-lines.ts";
import { messageOf } from "../../system/errors.ts";
import type { World } from "../world.ts";
import { type Check, ok, warning } from "./check.ts";

/** Records of agents that are gone, and entries that are no records. With `fix` both are cleaned up. */
export async function checkRecords(world: World, fix: boolean): Promise<Check> {
  try {
    return await judgeRecords(world, fix);
  } catch (error) {
    // Without tmux nobody can say which agents live: nothing is called stale then, and nothing is cleaned up.
    return warning("registry", `cannot tell which agents live: ${messageOf(error)}`, null);
  }
}

async function judgeRecords(world: World, fix: boolean): Promise<Check> {
  const { registry, clock, sessionAlive } = world;
  const cleaned = fix ? await registry.cleanUp() : null;
  const { records, ignored } = registry.list();
  const stale: string[] = [];
  for (const record of records) {
    const facts = { sessionAlive: await sessionAlive(record), nowMs: clock.nowMs() };
    const verdict = judgeRecord(record, facts);
    if (!verdict.keep) stale.push(`${record.agent_name}: ${verdict.why}`);
  }
  const problems = [...stale, ...ignored.map((one) => `${one.path} ${one.problem}`)];
  if (problems.length > 0) {
    const remedy = fix ? "what could not be cleaned up must be looked at by hand" : "svc-mgr doctor --fix";
    return warning("registry", problems.join("; "), remedy);
  }
  return ok("registry", cleaned ? `cleaned up: ${cleaned.length}` : `${records.length} agents recorded`);
}

/** Agents that a launch which was cut short left without a record. With `fix` those that are whole get theirs. */
export async function checkOrphans(world: World, fix: boolean): Promise<Check> {
  try {
    const deps = { ...world, runtimeRoot: world.roots.runtimeRoot };
    const orphans = await findOrphans(deps, world.registry.list().records);
    const left: Orphan[] = [];
    const adopted: string[] = [];
    for (const orphan of orphans) {
      const { manifest } = orphan;
      if (fix && manifest) adopted.push((await adoptOrphan(world, { ...orphan, manifest })).agent_name);
      else left.push(orphan);
    }
    if (left.length > 0) {
      const detail = left.map(({ tmuxSession }) => tmuxSession).join(", ");
      return warning(
        "orphans",
        `no record names the agent of: ${detail}`,
        left.map(remedyOf(world)).join("; "),
      );
    }
    return ok("orphans", adopted.length > 0 ? `found again: ${adopted.join(", ")}` : "none");
  } catch (error) {
    return warning("orphans", messageOf(error), null);
  }
}

/** What to do about an agent without a record: its session is whole, or can only be ended. */
export function remedyOf({ tmux }: Pick<World, "tmux">): (orphan: Orphan) => string {
  return ({ tmuxSession: session, manifest }) =>
    manifest
      ? `find "${manifest.agent_name}" again with: svc-mgr doctor --fix`
      : `end ${session} with: ${tmuxEndLine({ session_name: session, socket: tmux.socket })}`;
}

/** Agents whose gateways are to listen on the same port: only one of them can. */
export function checkGatewayPorts(world: World): Check {
  const wishes = new Map<number, string[]>();
  for (const record of world.registry.list().records) {
    const port = record.lifecycle.state === "active" ? wishedPort(world, record) : null;
    if (port !== null) wishes.set(port, [...(wishes.get(port) ?? []), record.agent_name]);
  }
  const shared = [...wishes].filter(([, names]) => names.length > 1);
  if (shared.length === 0) return ok("ports of gateways", `${wishes.size} asked for, no two the same`);
  const detail = shared.map(([port, names]) => `${port} is asked for by ${names.join(" and ")}`).join("; ");
  const [, [, name = ""] = []] = shared[0] ?? [];
  return warning(
    "ports of gateways",
    detail,
    `svc-mgr agents single --agent-name ${name} gateway attach --port 0`,
  );
}

function wishedPort({ files }: World, { runtime }: RegistryRecord): number | null {
  if (!runtime.session_root) return null;
  try {
    return readDesiredConfig(files, runtime.session_root).desired_port ?? null;
  } catch {
    return null;
  }
}
