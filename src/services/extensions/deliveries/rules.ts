import { dirname, isAbsolute, sep } from "node:path";
import {
  type DeliveryRule,
  DeliveryRules,
  type DeliveryTargetKind,
  deliveryTargets,
} from "../../../protocol/delivery.ts";
import { readCheckedYaml, type YamlFinding } from "../../../system/checked-yaml.ts";
import { childPath } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { shellWord } from "../../../system/shell-word.ts";
import { visibleLine } from "../../../system/visible.ts";
import { parseAddress } from "../../mail/address.ts";
import { refuseUnusableHours } from "../../notifier/config.ts";
import { overlayName } from "../../sessions/roots.ts";
import { refuseExposed } from "../../sessions/trust.ts";

/** A rule with its name, and the one target that it has. */
export type NamedRule = Omit<DeliveryRule, DeliveryTargetKind> & { name: string } & Target;

type Target = {
  [Kind in DeliveryTargetKind]: { kind: Kind; target: NonNullable<DeliveryRule[Kind]> };
}[DeliveryTargetKind];

type RulesReading = { ok: true; rules: NamedRule[] } | { ok: false; findings: YamlFinding[] };

/** Reads the text of a rule file. Pure. */
export function parseRules(text: string): RulesReading {
  const reading = readCheckedYaml(text, DeliveryRules);
  if (!reading.ok) return reading;
  const findings: YamlFinding[] = [];
  const rules: NamedRule[] = [];
  for (const [name, rule] of Object.entries(reading.value.rules)) {
    const find = (field: string | null, message: string) => {
      const path = ["rules", name, ...(field?.split(".") ?? [])];
      findings.push({ line: reading.lineOf(path), message: `${path.join(".")}: ${message}` });
    };
    const named = targetsOf(rule);
    const [only] = named;
    if (!only || named.length > 1) {
      const found = named.length === 0 ? "none" : named.map(({ kind }) => kind).join(" and ");
      find(null, `needs exactly one of ${deliveryTargets.join(", ")}; it has ${found}`);
      continue;
    }
    for (const { field, message } of problemsOf(rule)) find(field, message);
    const { command: _, webhook: __, ntfy: ___, mail: ____, ...rest } = rule;
    rules.push({ name, ...rest, ...only });
  }
  return findings.length > 0 ? { ok: false, findings } : { ok: true, rules };
}

function targetsOf({ command, webhook, ntfy, mail }: DeliveryRule): Target[] {
  return [
    ...(command ? [{ kind: "command" as const, target: command }] : []),
    ...(webhook ? [{ kind: "webhook" as const, target: webhook }] : []),
    ...(ntfy ? [{ kind: "ntfy" as const, target: ntfy }] : []),
    ...(mail ? [{ kind: "mail" as const, target: mail }] : []),
  ];
}

interface Problem {
  field: string;
  message: string;
}

function problemsOf({ quiet_hours, command, webhook, ntfy, mail }: DeliveryRule): Problem[] {
  const program = command?.argv[0] ?? "";
  return [
    ...(quiet_hours ? hoursProblem(quiet_hours) : []),
    ...(command && (program === "" || (program.includes(sep) && !isAbsolute(program)))
      ? [{ field: "command.argv", message: "the program must be a name on PATH or an absolute path" }]
      : []),
    ...(webhook ? urlProblem("webhook.url", webhook.url) : []),
    ...(ntfy ? urlProblem("ntfy.url", ntfy.url) : []),
    ...(ntfy && urlProblem("ntfy.url", ntfy.url).length === 0 && topicOf(ntfy.url) === null
      ? [{ field: "ntfy.url", message: "must end in a topic, such as https://ntfy.sh/my-topic" }]
      : []),
    ...(mail ? urlProblem("mail.jmap_url", mail.jmap_url) : []),
    ...(mail ? [...addressProblem("mail.to", mail.to), ...addressProblem("mail.from", mail.from)] : []),
  ];
}

function hoursProblem(hours: NonNullable<DeliveryRule["quiet_hours"]>): Problem[] {
  try {
    refuseUnusableHours(hours);
    return [];
  } catch (error) {
    return [{ field: "quiet_hours", message: messageOf(error).replace(/^quiet_hours[.:] ?/, "") }];
  }
}

function addressProblem(field: string, text: string): Problem[] {
  try {
    parseAddress(text);
    return [];
  } catch (error) {
    return [{ field, message: messageOf(error) }];
  }
}

/** Text of agents goes there: over TLS, or to this machine itself. */
function urlProblem(field: string, text: string): Problem[] {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
    return [{ field, message: "must be an http or https address without a login" }];
  }
  if (url.protocol === "https:" || isLoopbackHost(url.hostname)) return [];
  return [{ field, message: "must begin with https (http is for this machine only)" }];
}

/** Server and topic of an ntfy address; null when it names no topic. Pure. */
export function topicOf(address: string): { server: string; topic: string } | null {
  const url = new URL(address);
  const match = /^(.*\/)([-_A-Za-z0-9]{1,64})$/.exec(url.pathname);
  const [, folder, topic] = match ?? [];
  return folder === undefined || topic === undefined ? null : { server: `${url.origin}${folder}`, topic };
}

/**
 * The rules of a file, null when there is none. It names programs and where text of agents goes: throws
 * `precondition_failed` unless only this user can change it, and for one in a project's `.svc` folder.
 */
export function readRules(files: Files, path: string): RulesReading | null {
  if (!files.exists(path)) return null;
  const what = `the rule file ${path}`;
  if ([path, files.realPath(path) ?? path].some((one) => one.split(sep).includes(overlayName))) {
    throw new ServiceError(
      "precondition_failed",
      `${visibleLine(what)} is refused: it is in a ${overlayName} folder, which a repository may bring; move it to your configuration folder`,
    );
  }
  refuseExposed(files, path, what);
  const text = files.read(files.realPath(path) ?? path);
  if (text === null) {
    throw new ServiceError("precondition_failed", `${what} is not a regular file of this user alone`);
  }
  return parseRules(text);
}

/** Findings as lines, `FILE:LINE: message`. Pure. */
function renderFindings(path: string, findings: readonly YamlFinding[]): string[] {
  return findings.map(({ line, message }) => `${path}:${line}: ${message}`);
}

/**
 * A secret that a rule names, without the newline at its end. Throws `precondition_failed` unless the file is
 * of this user and nobody else can read it; the message never holds its content.
 */
export function readSecret(files: Files, rulesFile: string, name: string): string {
  const path = isAbsolute(name) ? name : childPath(dirname(rulesFile), ...name.split("/"));
  refuseExposed(files, path, `the secret file ${name}`);
  const text = files.read(path, { owner: "private" })?.trim();
  if (text) return text;
  const problem = text === "" ? "is empty" : "is not a regular file with mode 0600 of this user";
  throw new ServiceError(
    "precondition_failed",
    `the secret file ${name} ${problem}; run: chmod 600 ${shellWord(path)}`,
  );
}

/**
 * The rules of a file as it is now, read again when it was changed. Null while it cannot be used, or is gone.
 */
export function createRuleSource(options: {
  files: Files;
  path: string;
  onProblem: (problem: string) => void;
}): () => readonly NamedRule[] | null {
  const { files, path } = options;
  let seen: string | null = null;
  let rules: readonly NamedRule[] | null = null;
  return () => {
    const facts = files.stat(path);
    const shape = facts && `${facts.identity} ${facts.size} ${facts.modifiedMs}`;
    if (shape === seen && rules !== null) return rules;
    try {
      rules = usableRules(files, path);
    } catch (error) {
      rules = null;
      if (shape !== seen) options.onProblem(messageOf(error));
    }
    seen = shape;
    return rules;
  };
}

/** Throws `invalid_request` with every finding, and `not_found` without a file. */
export function usableRules(files: Files, path: string): readonly NamedRule[] {
  const reading = readRules(files, path);
  if (reading === null)
    throw new ServiceError(
      "not_found",
      `there is no rule file ${path}. Write one: see docs/guides/deliveries.md, or name another with --rules`,
    );
  if (reading.ok) return reading.rules;
  throw new ServiceError("invalid_request", renderFindings(path, reading.findings).join("\n"));
}

/** Why the rules of a file are not used, or null. */
export function rulesProblem(files: Files, path: string): string | null {
  try {
    usableRules(files, path);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
