import { expect } from "bun:test";
import type { MailList } from "../../../../src/protocol/mail.ts";
import { mailRoundSkill } from "../../../../src/services/notifier/render.ts";
import { skills } from "../../../../src/services/skills/catalog.ts";
import { placeholdersOf, skillCommands } from "../../../support/skill-commands.ts";
import { until } from "../../../support/until.ts";
import type { LabTool } from "../cli-cache.ts";
import type { SkillSession } from "../skill-session.ts";
import type { StageStep } from "../staged-steps.ts";

export type SkillStep = StageStep<SkillSession, null>;

/** The CLI tells the model of every skill that was installed, by name and description. */
export async function skillsAreListed({ model, worker }: SkillSession): Promise<void> {
  const prompt = "Which skills do you have? FAST";
  const run = await worker.mgr("prompt", "--prompt", prompt, "--wait");
  expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  const asked = await model.next(
    ({ purpose, newest_user_text: text }) => purpose === "turn" && text === prompt,
    45_000,
  );
  const told = textsIn(asked.body).join("\n");
  const listed = skills.flatMap(({ name, text }) => [name, descriptionOf(text)]);
  expect(listed.filter((one) => !told.includes(one))).toEqual([]);
}

/** The CLI's own list shows them to a person. */
export async function skillsAreShown(session: SkillSession): Promise<void> {
  const list = ownLists[session.tool];
  if (!list) throw new Error(`no list of ${session.tool} is known`);
  const press = async (sequence: string) => {
    const run = await session.worker.mgr("gateway", "send-keys", "--sequence", sequence);
    expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  };
  for (const { keys, shows } of list.open) {
    await press(keys);
    await until(
      `${shows.join(", ")} on the screen`,
      () => shows.every((text) => session.screen().includes(text)),
      45_000,
    );
  }
  for (const keys of list.close) await press(keys);
}

interface OwnList {
  /** What is pressed, and what must show before the next. */
  open: readonly { keys: string; shows: readonly string[] }[];
  close: readonly string[];
}

const names = skills.map(({ name }) => name);

const ownLists: Readonly<Partial<Record<LabTool, OwnList>>> = {
  claude: {
    open: [
      { keys: "/skills", shows: ["List available skills"] },
      { keys: "<[Enter]>", shows: ["4 skills", ...names] },
    ],
    close: ["<[Escape]>"],
  },
  // Long names are cut.
  codex: {
    open: [{ keys: "$svc-", shows: names.map((name) => name.slice(0, 25)) }],
    close: ["<[Escape]>", "<[C-u]>"],
  },
  gemini: {
    open: [
      { keys: "/skills", shows: ["enable, disable, or reload"] },
      { keys: "<[Enter]>", shows: ["Available Agent Skills", ...names] },
    ],
    close: [],
  },
};

/**
 * Mail wakes the agent with the skill's name; the CLI gives its text to the model, which runs no command that
 * does not stand there; the message is read, answered and archived.
 */
export async function roundBySkill({ model, worker, tool }: SkillSession): Promise<void> {
  const post = await worker.mgr("mail", "post", "--subject", "Count", "--body-content", "round 1 of 2");
  expect([post.exitCode, post.json()["status"]]).toEqual([0, "verified"]);
  const last = await model.next(
    ({ purpose, tool_results: results, outcome }) =>
      purpose === "turn" &&
      outcome === "finished" &&
      results.filter((result) => result.includes('"schema_version":1,')).length === 4,
    120_000,
  );
  expect(last.newest_user_text).toContain(`\n${invocation(tool, worker.baseUrl)}\n`);

  // The text that the CLI sent is the one that was installed, and every command of the turn stands in it.
  const installed = skills.find(({ name }) => name === mailRoundSkill)?.text ?? "";
  const body = installed.slice(installed.indexOf("\n# ")).trim();
  expect(textsIn(last.body).filter((text) => text.includes(body))).toHaveLength(1);
  const shown = skillCommands(body).map(toPattern);
  const ran = shellCommandsIn(last.body);
  expect(ran.map((command) => shown.findIndex((pattern) => pattern.test(command)))).toEqual([0, 1, 2, 4]);

  const inbox = (await worker.mgr("mail", "list", "--json")).json<MailList>();
  expect(inbox.message_count).toBe(0);
  const archive = (await worker.mgr("mail", "list", "--box", "archive")).json<MailList>();
  const flags = archive.messages.map(({ read, answered, archived }) => ({ read, answered, archived }));
  expect(flags).toEqual([{ read: true, answered: true, archived: true }]);
  const sent = (await worker.mgr("mail", "list", "--box", "sent")).json<MailList>();
  expect(sent.messages.map((message) => message.body_preview)).toEqual(["round 2 of 2"]);
}

/** How the wake-up prompt names the skill to this tool. */
function invocation(tool: LabTool, baseUrl: string): string {
  if (tool === "claude") return `/${mailRoundSkill} ${baseUrl}`;
  if (tool === "codex") return `$${mailRoundSkill} ${baseUrl}`;
  return `Use the skill ${mailRoundSkill} with the gateway ${baseUrl}.`;
}

function descriptionOf(text: string): string {
  return /^description: (.*)$/m.exec(text)?.[1] ?? "no description";
}

/** Fits the command with anything in the place of its placeholders, and nothing else. */
function toPattern(command: string): RegExp {
  const names = placeholdersOf(command);
  const parts = command.split(new RegExp(`\\b(${names.join("|")})\\b`));
  const source = parts.map((part) =>
    names.includes(part) ? "[^']+?" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  );
  return new RegExp(`^${source.join("")}$`);
}

/** Every string of a request's body. */
function textsIn(body: unknown): string[] {
  if (typeof body === "string") return [body];
  return typeof body === "object" && body !== null ? Object.values(body).flatMap(textsIn) : [];
}

const shellTools = ["Bash", "exec_command", "run_shell_command"];

/** The shell commands of a conversation, oldest first, as the CLI sends its own calls back to the model. */
function shellCommandsIn(body: unknown): string[] {
  if (typeof body !== "object" || body === null) return [];
  const call = body as Record<string, unknown>;
  if (typeof call["name"] === "string" && shellTools.includes(call["name"])) {
    const given = call["input"] ?? call["args"] ?? call["arguments"];
    const parsed = (typeof given === "string" ? JSON.parse(given) : given) as
      | Record<string, unknown>
      | undefined;
    const command = parsed?.["command"] ?? parsed?.["cmd"];
    if (typeof command === "string") return [command];
  }
  return Object.values(body).flatMap(shellCommandsIn);
}
