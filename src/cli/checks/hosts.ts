import { salvageRows } from "../../db/mailbox/inspect.ts";
import { type CarrierState, HostList, type HostState } from "../../protocol/host-states.ts";
import { hostNamePattern } from "../../protocol/wire.ts";
import { rootPaths } from "../../services/mail/filesystem/root-paths.ts";
import { parseTimestamp, toTimestamp } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { usedMailboxRoots } from "../command-line/mailbox-openers.ts";
import { askCoordinator } from "../coordinator/ask-coordinator.ts";
import { type Check, ok, warning } from "./check.ts";

/** Above this, times of two hosts cannot be read side by side. */
const maxClockMs = 2000;
/** A person notices it in a live terminal. */
const slowMs = 500;
/** Mail that waits for less may wait for a host that starts again. */
const hourMs = 3_600_000;
const hostName = new RegExp(hostNamePattern);

/** The way to each other host of the fleet; nothing where no server runs that reaches one. */
export async function checkHosts(context: CliContext, io: Pick<CliIo, "env">): Promise<Check[]> {
  const name = "hosts";
  try {
    const list = await askCoordinator(context, io, { path: "/svc/hosts?probe=true", schema: HostList });
    return list === null ? [] : judgeHosts(list);
  } catch (error) {
    return [warning(name, messageOf(error), "svc-coord hosts")];
  }
}

/**
 * Mail to other hosts that waits here for long. Of an index that is damaged, which is found elsewhere, what
 * can be read.
 */
export function checkOutboxes(
  context: Pick<CliContext, "registry" | "files" | "overlays" | "roots" | "clock">,
): Check[] {
  const nowMs = context.clock.nowMs();
  const roots = usedMailboxRoots(context).filter((root) => context.files.exposure(root) === null);
  return roots.flatMap((root) => {
    const waiting: { host: string; sinceMs: number }[] = [];
    salvageRows(rootPaths(root).index, "host_outbox", ({ host, accepted_at_utc: at }) => {
      const sinceMs = parseTimestamp(String(at));
      if (typeof host === "string" && hostName.test(host) && sinceMs !== null)
        waiting.push({ host, sinceMs });
    });
    const [oldest] = waiting.sort((left, right) => left.sinceMs - right.sinceMs);
    if (!oldest || nowMs - oldest.sinceMs < hourMs) return [];
    const detail = `${root}: ${waiting.length} messages wait, one for ${oldest.host} since ${toTimestamp(oldest.sinceMs)}`;
    return [
      warning("mail to other hosts", detail, `see that svc-coord join runs here and on ${oldest.host}`),
    ];
  });
}

/** Pure. */
export function judgeHosts({ carriers, hosts, version, local_host: own }: HostList): Check[] {
  if (own === null) return [];
  const lost = carriers.filter(({ via, connected }) => via === "nats" && !connected);
  const found = [
    ...carriers.filter(({ via }) => via === "nats").map(judgeBus),
    // With the server gone nothing else can be said of what it carries.
    ...hosts
      .filter(({ via }) => via !== "nats" || lost.length === 0)
      .flatMap((host) => [judgeHost(host, version, carriers), ...judgeMail(host)]),
  ];
  return found.length > 0 ? found : [ok("hosts", "no other host was seen")];
}

function judgeBus({ address, connected, latency_ms: latency, server_version: version }: CarrierState): Check {
  const name = "NATS server";
  if (!connected) {
    const remedy = "start it again on its machine; one for trying out: svc-coord nats";
    return warning(name, `${address} does not answer`, remedy);
  }
  if (latency !== null && latency > slowMs) {
    return warning(
      name,
      `${address}: ${latency} ms round trip`,
      "use one nearer, or a leaf node at each site",
    );
  }
  return ok(name, `${address}, version ${version ?? "unknown"}, ${latency ?? "?"} ms round trip`);
}

function judgeHost(one: HostState, version: string, carriers: readonly CarrierState[]): Check {
  const name = `host ${one.host}`;
  if (one.state === "away") {
    const since = one.since_utc === null ? "was never seen" : `is away since ${one.since_utc}`;
    const detail = `it ${since}${one.detail ? `: ${one.detail}` : ""}`;
    return warning(name, detail, remedyOfAway(one, carriers));
  }
  const { latency_ms: latency, clock_difference_ms: clock, heartbeat_age_ms: age } = one;
  if (latency === null || latency === undefined) {
    const detail = `its heartbeats come, and it does not answer: ${one.detail ?? "no reason known"}`;
    return warning(name, detail, `on ${one.host}: svc-mgr doctor`);
  }
  const facts = `${one.via}, ${one.agents} agents, heartbeat ${age ?? "?"} ms ago, ${latency} ms round trip`;
  if (one.version !== version) {
    const detail = `${facts}; it has version ${one.version ?? "unknown"}, this machine ${version}`;
    return warning(name, detail, `install the same version there, then start svc-coord join again`);
  }
  if (clock !== null && clock !== undefined && Math.abs(clock) > maxClockMs) {
    const how = `${Math.round(Math.abs(clock) / 1000)} s ${clock > 0 ? "ahead" : "behind"}`;
    return warning(name, `${facts}; its clock is ${how}`, `on ${one.host}: timedatectl set-ntp true`);
  }
  if (latency > slowMs) return warning(name, facts, `look at the network between here and ${one.host}`);
  return ok(name, facts);
}

/** What a host that is away last said of its mail is old. */
function judgeMail({ host, state, mail }: HostState): Check[] {
  const ageMs = mail?.oldest_age_ms ?? 0;
  if (state === "away" || mail === undefined || ageMs < hourMs) return [];
  const detail = `${mail.waiting} messages to other hosts wait there, one for ${Math.floor(ageMs / hourMs)} h`;
  return [
    warning(`mail of host ${host}`, detail, `on ${host}: svc-mgr doctor names the host that they wait for`),
  ];
}

function remedyOfAway({ host, via }: HostState, carriers: readonly CarrierState[]): string {
  const way = carriers.find((one) => one.via === via && (one.host === null || one.host === host));
  if (via === "ssh") return `try it by hand: ssh ${way?.address ?? host} svc-coord --version`;
  return `on ${host}: svc-coord join --nats ${way?.address ?? "URL"} --creds FILE --host ${host}`;
}
