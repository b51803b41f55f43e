import { type Delivery, deliveryStates } from "../../protocol/delivery.ts";
import { deliveryPaths, listDeliveries } from "../../services/extensions/deliveries/delivery.ts";
import { usableRules } from "../../services/extensions/deliveries/rules.ts";
import { createSend } from "../../services/extensions/deliveries/send.ts";
import { stateRootOf } from "../../services/sessions/roots.ts";
import { ServiceError } from "../../system/errors.ts";
import { suggest } from "../../system/similar-word.ts";
import { visible, visibleLine } from "../../system/visible.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import { command } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { renderTable } from "../command-line/format.ts";
import { rulesFlag, toRulesFile } from "../gateway/gateway-flags.ts";

const deliveries = command({
  name: "deliveries",
  description: "show what was sent to the outside, newest first",
  examples: ["svc-mgr attention deliveries", "svc-mgr attention deliveries --state pending --json"],
  args: {
    state: { type: "enum", options: deliveryStates, description: "only deliveries in this state" },
    limit: { type: "string", valueHint: "N", description: "at most this many (default: 100)" },
    before: { type: "string", valueHint: "N", description: "only what is older than this sequence" },
  },
  async run({ args, inherited, io }) {
    const { files, roots } = openCliContext(io, inherited);
    const paths = deliveryPaths(stateRootOf(io.env, io.home), roots.registryRoot);
    const before = toWholeNumber("before", args.before, 1, Number.MAX_SAFE_INTEGER);
    const found = listDeliveries(files, paths, {
      limit: toWholeNumber("limit", args.limit, 1, 1000) ?? 100,
      ...(before === undefined ? {} : { before }),
      ...(args.state ? { state: args.state as Delivery["state"] } : {}),
    });
    return { json: found, text: toText(found.deliveries) };
  },
});

function toText(found: readonly Delivery[]): string {
  if (found.length === 0) return "nothing was to be delivered";
  const rows = found.map((one) => [
    String(one.sequence),
    one.state,
    `${one.rule} (${one.target})`,
    String(one.attempts),
    visibleLine(
      one.items
        .map(({ agent_name, kind }) => (agent_name === null ? kind : `${agent_name}: ${kind}`))
        .join(", "),
    ),
    visibleLine(one.last_error ?? ""),
  ]);
  return renderTable(["", "STATE", "RULE", "ATTEMPTS", "ITEMS", "LAST ERROR"], rows);
}

const rules = command({
  name: "rules",
  description: "show and check the rules of deliveries",
  examples: ["svc-mgr attention rules", "svc-mgr attention rules --rules deliveries.yaml"],
  args: rulesFlag,
  async run({ args, inherited, io }) {
    const { files } = openCliContext(io, inherited);
    const path = toRulesFile(args.rules, { io, files });
    const found = files.exists(path) ? usableRules(files, path) : [];
    const shown = found.map((rule) => ({
      name: rule.name,
      target: rule.kind,
      reasons: rule.reasons ?? null,
      agents: rule.agents ?? null,
      quiet_hours: rule.quiet_hours ?? null,
      digest: rule.digest ?? null,
      include: rule.include ?? [],
    }));
    const rows = shown.map((rule) => [
      rule.name,
      rule.target,
      rule.reasons?.join(", ") ?? "all",
      visibleLine(rule.agents?.join(", ") ?? "all"),
      rule.quiet_hours
        ? `${rule.quiet_hours.start}-${rule.quiet_hours.end} ${rule.quiet_hours.time_zone}`
        : "",
      rule.digest === null ? "" : `${rule.digest} s`,
      rule.include.join(", "),
    ]);
    const head = ["RULE", "TARGET", "REASONS", "AGENTS", "QUIET HOURS", "DIGEST", "INCLUDES"];
    return {
      json: { schema_version: 1, file: path, rules: shown },
      text: rows.length === 0 ? `no rules; they belong into ${path}` : renderTable(head, rows),
    };
  },
});

const deliverTest = command({
  name: "deliver-test",
  description: "send one item, marked as a test, to the target of a rule, and show what came back",
  examples: ["svc-mgr attention deliver-test phone"],
  args: {
    rule: { type: "positional", description: "name of the rule" },
    ...rulesFlag,
  },
  async run({ args, inherited, io }) {
    const { system, files, clock, ids } = openCliContext(io, inherited);
    const path = toRulesFile(args.rules, { io, files });
    const found = usableRules(files, path);
    const rule = found.find(({ name }) => name === args.rule);
    if (!rule) {
      const names = found.map(({ name }) => name);
      const near = suggest(args.rule ?? "", names);
      const known = near === null ? `rules: ${names.join(", ") || "none"}` : `did you mean "${near}"?`;
      throw new ServiceError("not_found", `there is no rule "${args.rule}"; ${known}`);
    }
    const send = createSend({ ...system, files, env: io.env, home: io.home, rulesFile: path });
    const result = await send(rule, {
      deliveryId: `dlv_${ids.hex(16)}`,
      createdMs: clock.nowMs(),
      test: true,
      items: [
        {
          id: "test-000000000000",
          epoch: null,
          agent: "test",
          reason: "question",
          since_utc: null,
          summary: '"test" asks a question: Does this arrive?',
          question: "Does this arrive?",
        },
      ],
    });
    const answer = visible(result.answer).slice(0, maxAnswer).trim();
    const json = { status: result.ok ? "ok" : "failed", rule: rule.name, target: rule.kind };
    if (!result.ok) {
      throw new CommandFailure(exitCodes.refused, [result.error, answer].filter(Boolean).join("\n"), {
        ...json,
        detail: result.error,
        answer,
      });
    }
    return {
      json: { ...json, detail: result.detail, answer },
      text: [`${rule.kind}: ${result.detail}`, ...(answer === "" ? [] : [answer])].join("\n"),
    };
  },
});

const maxAnswer = 1000;

export const deliveryCommands = { deliveries, rules, "deliver-test": deliverTest };
