import { appendFileSync } from "node:fs";
import { parseMailRound } from "../../src/services/demo/script.ts";
import { skills } from "../../src/services/skills/catalog.ts";
import { guideSkills } from "./loop-guide.ts";
import { fillIn, skillCommands } from "./skill-commands.ts";

// The mind of a scripted agent in the loop of the guide: prompt on standard input, one turn's work, end. It
// knows what the skills say: each command that it runs is one that they show, or one of the guidance in the
// prompt, filled in. Argument: the file to which each command is appended, one JSON line with its exit code.

const [log = ""] = process.argv.slice(2);
const prompt = await new Response(Bun.stdin.stream()).text();
const [onEvent, onTick] = guideSkills().map(({ text }) => skillCommands(text));
const mail = skills.flatMap(({ name, text }) =>
  name === "svc-agent-email-comms" ? skillCommands(text) : [],
);

/** Runs the only command of `shown` that has `part` in it. */
function run(shown: readonly string[] | undefined, part: string, values: Record<string, string> = {}) {
  const [command, another] = (shown ?? []).filter((one) => one.includes(part));
  if (command === undefined || another !== undefined) throw new Error(`not one command with ${part}`);
  const filled = fillIn(command, values);
  const { exitCode, stdout } = Bun.spawnSync(["sh", "-c", filled], { stdin: "ignore" });
  appendFileSync(log, `${JSON.stringify({ command: filled, exitCode })}\n`);
  return { ok: exitCode === 0, stdout: stdout.toString() };
}

function must(result: { ok: boolean; stdout: string }): string {
  if (result.ok) return result.stdout;
  throw new Error("a command failed: the turn ends here and the message stays in the inbox");
}

function textOf(read: string): string {
  return (JSON.parse(read) as { message: { body_text: string } }).message.body_text;
}

const lines = prompt.split("\n").filter((line) => /^\d+\. message_ref: /.test(line));
const refs = parseMailRound(prompt)?.refs ?? [];
const guidance = prompt.split("Guidance for this round:\n")[1]?.split("\n\n")[0] ?? "";
const tickAsked = /run the tick of the checks once/i;

if (refs.length === 0) {
  if (tickAsked.test(prompt)) tick();
} else if (guidance.includes("use the skill check-requests")) {
  const index = lines.findIndex((line) => / \| subject: "check\.request\/1" \|/.test(line));
  if (index >= 0) workRequest(refs[index] ?? "");
} else {
  for (const [index, ref] of refs.entries()) {
    if (/ \| from: "checker@/.test(lines[index] ?? "")) recordResult(ref);
  }
  if (tickAsked.test(guidance)) tick();
}

function workRequest(REF: string): void {
  const CHECK = checkOf(textOf(must(run(onEvent, " mail read ", { REF }))));
  if (CHECK !== null && run(onEvent, "test -f ", { CHECK }).ok) {
    const EXIT = /exit (\d+)/.exec(must(run(onEvent, "timeout ", { CHECK })))?.[1] ?? "none";
    must(run(onEvent, '"exit":EXIT', { REF, CHECK, EXIT }));
  } else {
    must(run(onEvent, '{"error":', { REF, TEXT: "no such check" }));
  }
  must(run(onEvent, " mail archive ", { REF }));
}

function checkOf(text: string): string | null {
  try {
    const { check, ...more } = JSON.parse(text) as Record<string, unknown>;
    const valid = typeof check === "string" && /^[a-z0-9-]+$/.test(check) && Object.keys(more).length === 0;
    return valid ? check : null;
  } catch {
    return null;
  }
}

function recordResult(REF: string): void {
  const { check, exit } = JSON.parse(textOf(must(run(mail, " mail read ", { REF })))) as Record<
    string,
    unknown
  >;
  const commands = [...guidance.matchAll(/`(echo [^`]+)`/g)].map((match) => match[1] ?? "");
  must(run(commands, exit === 0 ? "passed" : "failed", { CHECK: String(check) }));
  must(run(mail, " mail archive ", { REF }));
}

function tick(): void {
  const state = must(run(onTick, "cat ")).trim().split("\n");
  const said = (check: string) => state.filter((line) => line.startsWith(`${check} `)).length;
  const checks = state.filter((line) => !line.includes(" "));
  if (checks.some((check) => said(check) === 1)) return;
  const CHECK = checks.find((check) => said(check) === 0);
  if (CHECK === undefined) return;
  must(run(onTick, " mail send ", { CHECK }));
  must(run(onTick, "asked", { CHECK }));
}
