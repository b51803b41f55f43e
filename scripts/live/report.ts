import { findComposer } from "../../src/services/terminal/detect/composer.ts";
import { detect } from "../../src/services/terminal/detect/detect.ts";
import type { CompiledProfile } from "../../src/services/terminal/profiles/profile.ts";
import {
  differingLabels,
  type LabelDifference,
  observeRecording,
  parseMeta,
  readLabels,
  type StoredRecording,
} from "../../src/services/terminal/recorded/recorded-screen.ts";

/** One step of the lab as it ended. */
export interface ReportedStep {
  /** The part of the lab, and the step in it. */
  group: string;
  step: string;
  verdict: "passed" | "failed" | "skipped";
  seconds: number;
}

/** What a failed step left to be looked at. */
export interface StepAccount {
  group: string;
  step: string;
  error: string;
  /** What the screen showed, plain; null where there is none. */
  screen: string | null;
}

/** How one screen differs from that of the same state in the last proved version. */
interface ScreenChange {
  state: string;
  /** The recording it was compared with, as TOOL/VERSION/STATE; null when there is none. */
  before: string | null;
  labels: LabelDifference[];
  rules: { gone: string[]; come: string[] };
  /** Rows of the composer and below it, else the last of the screen; each number is 0. */
  rows: { gone: string[]; come: string[] };
}

export interface LiveReport {
  tool: string;
  version: string;
  /** The versions that the profile was proved on, the last one first. */
  proved: readonly string[];
  steps: (ReportedStep & { error: string | null; screen: string | null })[];
  passed: number;
  failed: number;
  /** False when the run was ended before its last step; steps that passed are then not known. */
  complete: boolean;
  changes: ScreenChange[];
  /** Folder of the new recordings, relative to the report. */
  recordings: string;
}

/** The steps of a junit report of `bun test`, in their order. */
export function readSteps(junit: string): ReportedStep[] {
  const found: ReportedStep[] = [];
  for (const [, attributes = "", ending, body = ""] of junit.matchAll(
    /<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    const attribute = (name: string) =>
      toText(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
    const failed = /<(?:failure|error)\b/.test(body);
    const skipped = ending !== "/>" && /<skipped\b/.test(body);
    found.push({
      group: attribute("classname"),
      step: attribute("name"),
      verdict: failed ? "failed" : skipped ? "skipped" : "passed",
      seconds: Number(attribute("time")) || 0,
    });
  }
  return found;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const toText = (text: string) =>
  text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string | undefined) =>
    code === undefined ? (entities[name ?? ""] ?? whole) : String.fromCodePoint(Number(code)),
  );

export function makeReport(facts: {
  tool: string;
  version: string;
  profile: CompiledProfile;
  junit: string;
  accounts: readonly StepAccount[];
  /** All recordings there are, and those of this run. */
  known: readonly StoredRecording[];
  made: readonly StoredRecording[];
  recordings: string;
}): LiveReport {
  const { tool, version, profile, accounts } = facts;
  const proved = profile.data.proved_versions;
  const candidates = proved.includes(version) ? [version, ...proved] : proved;
  const accountOf = (step: { group: string; step: string }) =>
    accounts.find((one) => one.group === step.group && one.step === step.step);
  const reported = readSteps(facts.junit);
  // bun test writes its report at the end alone.
  const unreported: ReportedStep[] = accounts
    .filter((account) => !reported.some((step) => accountOf(step) === account))
    .map(({ group, step }) => ({ group, step, verdict: "failed", seconds: 0 }));
  const steps = [...reported, ...unreported].map((step) => {
    const account = accountOf(step);
    return { ...step, error: account?.error ?? null, screen: account?.screen ?? null };
  });
  return {
    tool,
    version,
    proved,
    steps,
    passed: steps.filter(({ verdict }) => verdict === "passed").length,
    failed: steps.filter(({ verdict }) => verdict === "failed").length,
    complete: reported.length > 0,
    changes: facts.made.map((made) => {
      const before = candidates
        .map((of) =>
          facts.known.find((one) => one.tool === tool && one.version === of && one.state === made.state),
        )
        .find((one) => one !== undefined);
      return changeOf(before ?? null, made, profile);
    }),
    recordings: facts.recordings,
  };
}

/** So many of the last rows show a dialog. */
const dialogRows = 6;

function changeOf(
  before: StoredRecording | null,
  made: StoredRecording,
  profile: CompiledProfile,
): ScreenChange {
  const nothing = { gone: [], come: [] };
  const now = lookAt(made, profile);
  const then = before && lookAt(before, profile);
  if (before === null || then === null || now === null) {
    return { state: made.state, before: null, labels: [], rules: nothing, rows: nothing };
  }
  return {
    state: made.state,
    before: `${before.tool}/${before.version}/${before.state}`,
    labels: differingLabels(
      { ...then.labels, draft: now.labels.draft, decision: now.labels.decision },
      now.labels,
    ),
    rules: difference(then.rules, now.rules),
    rows: difference(then.rows, now.rows),
  };
}

function lookAt({ screen, meta: text }: StoredRecording, profile: CompiledProfile) {
  const meta = parseMeta(text);
  if (meta === null) return null;
  const observation = observeRecording(screen, meta, profile);
  const composer = findComposer(observation, profile);
  const rows = composer ? observation.rows.slice(composer.top) : observation.rows;
  const filled = rows.map((row) => row.text.trim()).filter((row) => row !== "");
  return {
    labels: readLabels(observation, profile).labels,
    rules: detect(observation, profile).firedRules.map(({ rule }) => rule),
    rows: filled
      .slice(composer ? 0 : -dialogRows)
      .map((row) => row.replace(/\d+/g, "0").replace(/(.)\1{7,}/gu, "$1$1$1…")),
  };
}

function difference(before: readonly string[], now: readonly string[]) {
  return {
    gone: [...new Set(before)].filter((one) => !now.includes(one)),
    come: [...new Set(now)].filter((one) => !before.includes(one)),
  };
}

const isChanged = ({ labels, rules, rows }: ScreenChange) =>
  [labels, rules.gone, rules.come, rows.gone, rows.come].some((list) => list.length > 0);

/** The report for a person. Pure. */
export function renderReport(report: LiveReport): string {
  const { tool, version, proved, steps, passed, failed, changes } = report;
  const failures = steps.filter(({ verdict }) => verdict === "failed");
  const changed = changes.filter(isChanged);
  const unknown = changes.filter(({ before }) => before === null).map(({ state }) => state);
  return [
    `# ${tool} ${version}`,
    "",
    proved.includes(version)
      ? "The profile was proved on this version."
      : `The profile was not proved on this version; proved are ${proved.join(", ") || "none"}.`,
    report.complete
      ? `${passed} steps passed, ${failed} failed. New recordings: \`${report.recordings}\`.`
      : `The run did not come to its end; ${failed} steps failed before. New recordings: \`${report.recordings}\`.`,
    "",
    "| step | verdict | seconds |",
    "| --- | --- | ---: |",
    ...steps.map(
      ({ group, step, verdict, seconds }) =>
        `| ${cell(`${group}: ${step}`)} | ${verdict === "passed" ? verdict : `**${verdict}**`} | ${seconds.toFixed(1)} |`,
    ),
    ...failures.flatMap(({ group, step, error, screen }) => [
      "",
      `## Failed: ${group}: ${step}`,
      "",
      ...fenced(error ?? "it left no account"),
      ...(screen === null ? [] : ["", "The screen at that moment:", "", ...fenced(screen)]),
    ]),
    "",
    "## What changed on the screens",
    "",
    changed.length === 0
      ? `Nothing in ${changes.length - unknown.length} states that a proved version was recorded in.`
      : "Beside the recording of the last proved version. Rows are those of the composer and below it, every number as 0.",
    ...changed.flatMap((change) => [
      "",
      `### ${change.state}, beside ${change.before}`,
      "",
      ...linesOf(change),
    ]),
    ...(unknown.length === 0 ? [] : ["", `Without a recording to compare with: ${unknown.join(", ")}.`]),
    "",
  ].join("\n");
}

function linesOf({ labels, rules, rows }: ScreenChange): string[] {
  return [
    ...labels.map(({ field, recorded, read }) => `- \`${field}\` reads ${read}, was ${recorded}`),
    ...rules.gone.map((rule) => `- the rule \`${rule}\` does not fire any more`),
    ...rules.come.map((rule) => `- the rule \`${rule}\` fires now`),
    ...rows.gone.map((row) => `- gone: \`${row.replaceAll("`", "'")}\``),
    ...rows.come.map((row) => `- new: \`${row.replaceAll("`", "'")}\``),
  ];
}

const cell = (text: string) => text.replaceAll("|", "\\|");
const fenced = (text: string) => ["```text", ...text.replaceAll("```", "'''").split("\n"), "```"];
