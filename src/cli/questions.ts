import type { AgentSnapshot } from "../services/fleet/agent-snapshot.ts";
import type { Invocation } from "./command.ts";

/** What an agent asks a person. */
interface Question {
  agent_name: string;
  kind: string;
  question: string;
  options: { index: number; text: string }[];
}

/** What agents that run ask a person; of the agent of this name alone where one is given, which must be there. */
export async function findQuestions({ io, inherited }: Invocation, name?: string): Promise<Question[]> {
  const { openCliContext } = await import("./cli-context.ts");
  const { findNamed } = await import("./team-scope.ts");
  const { snapshotAgents } = await import("../services/fleet/agent-snapshot.ts");
  const { createSessionsSeen } = await import("../services/sessions/record.ts");
  const { mailboxOpeners } = await import("./mailbox-openers.ts");
  const context = openCliContext(io, inherited);
  const active = () =>
    context.registry.list().records.filter(({ lifecycle }) => lifecycle.state === "active");
  const records = name === undefined ? active() : [await findNamed(context, io, name)];
  const openers = mailboxOpeners(context, () => {});
  try {
    const sessionAlive = createSessionsSeen(context.tmuxFor);
    return (await snapshotAgents({ ...context, openers, sessionAlive }, records)).flatMap(toQuestion);
  } finally {
    for (const opener of Object.values(openers)) opener.close();
  }
}

function toQuestion({ record, state }: AgentSnapshot): Question[] {
  const decision = state?.awaiting_decision;
  if (!decision) return [];
  const { kind, question, options } = decision;
  return [
    {
      agent_name: record.agent_name,
      kind,
      question,
      options: options.map(({ index, text }) => ({ index, text })),
    },
  ];
}

/** Pure. */
export function renderQuestions(questions: readonly Question[]): string {
  return questions
    .map(({ agent_name: name, question, options }) =>
      [
        `${name} asks: ${question || "its question could not be read"}`,
        ...options.map(({ index, text }) => `  ${index}. ${text}`),
        `  Answer: svc ok ${name} ${options.length > 0 ? "NUMBER" : "ANSWER"}`,
      ].join("\n"),
    )
    .join("\n");
}
