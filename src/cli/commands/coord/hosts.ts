import { HostList } from "../../../protocol/host-states.ts";
import { openCliContext } from "../../command-line/cli-context.ts";
import { command } from "../../command-line/command.ts";
import { renderTable } from "../../command-line/format.ts";
import { requireCoordinator } from "../../coordinator/ask-coordinator.ts";

export default command({
  name: "hosts",
  description: "list the other hosts of the fleet and the ways to them, as the server that runs sees them",
  examples: ["svc-coord hosts", "svc-coord hosts --probe --json"],
  args: {
    probe: { type: "boolean", description: "ask each host something and measure the time" },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const path = `/svc/hosts?probe=${args.probe}`;
    const list = await requireCoordinator(context, io, { path, schema: HostList });
    return { json: list, text: toText(list) };
  },
});

function toText({ local_host: own, carriers, hosts }: HostList): string {
  if (own === null)
    return "This server reaches no other host: svc-coord serve --nats URL, or --ssh user@HOST";
  const ways = carriers.map((one) => [
    one.via,
    one.address,
    one.connected ? "connected" : "LOST",
    milliseconds(one.latency_ms),
    String(one.reconnects),
    String(one.repeated_calls),
  ]);
  const rows = hosts.map((one) => [
    one.host,
    one.via,
    one.state === "live" ? "live" : `away since ${one.since_utc ?? "ever"}`,
    String(one.agents),
    one.version ?? "-",
    milliseconds(one.heartbeat_age_ms),
    milliseconds(one.latency_ms),
    String(one.returns ?? 0),
    milliseconds(one.clock_difference_ms),
    one.detail ?? "",
  ]);
  const header = ["HOST", "VIA", "STATE", "AGENTS", "VERSION", "HEARTBEAT", "ROUND TRIP", "RETURNS", "CLOCK"];
  return [
    renderTable(["VIA", "ADDRESS", "STATE", "ROUND TRIP", "RECONNECTS", "REPEATED"], ways),
    "",
    hosts.length === 0 ? `No other host was seen; this one is "${own}".` : renderTable([...header, ""], rows),
  ].join("\n");
}

function milliseconds(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : `${value} ms`;
}
