/** A prompt that a coordination server was asked to hand to an agent, and all that became of it. */
export interface ForwardedPrompt {
  agent: string;
  key: string;
  /** Every request id that an answer to this key had. */
  requestIds: readonly string[];
  /** Of the last answer: `refused` is a promise that nothing was sent; `unknown` that it may have been. */
  answer: "accepted" | "refused" | "unknown";
  /** What a refusal said. */
  refusal?: string | undefined;
  /**
   * What `outcome` said afterwards of an answer that was not known: a request id, null for none; undefined:
   * no answer.
   */
  outcome?: string | null | undefined;
  /** The state that the operator reports of it in the end; null when it knows no such request. */
  reported: string | null;
  /** Rows of this key in the gateway's own record. */
  rows: readonly PromptRow[];
  /** How often the agent itself says that it was given it. */
  heard: number;
}

export interface PromptRow {
  requestId: string;
  state: string;
  errorDetail: string | null;
}

/** A message from one agent to another. */
export interface SentMail {
  from: string;
  to: string;
  subject: string;
  /** `refused` is a promise that it was not sent; `unknown`: its sender got no answer, it may have been sent. */
  answer: "accepted" | "refused" | "unknown";
}

/** What the mailbox of an agent holds, oldest first. */
export interface ArrivedMail {
  from: string;
  to: string;
  subject: string;
}

/**
 * What is wrong with a prompt in the end, when nothing is broken any more and every queue is empty: an
 * accepted one has one row that ended, an agent heard none twice, and no answer said what is not so. Pure.
 */
export function promptProblems(prompt: ForwardedPrompt): string[] {
  const { key, agent, answer, refusal, outcome, rows, heard, reported } = prompt;
  const [row] = rows;
  const found: string[] = [];
  const say = (problem: string) => void found.push(`${key} of ${agent} ${problem}`);
  if (rows.length > 1) say(`was accepted ${rows.length} times`);
  if (heard > 1) say(`was heard ${heard} times`);
  if (heard > 0 && !row) say("was heard and is not recorded");
  if (new Set(prompt.requestIds).size > 1) say(`has several requests: ${prompt.requestIds.join(", ")}`);
  if (answer === "accepted" && !row) say("was accepted and is lost");
  if (answer === "refused" && (row || heard > 0)) say(`was refused (${refusal}), and was done all the same`);
  if (answer === "unknown" && outcome === undefined) say("stays not known");
  if (answer === "unknown" && outcome === null && (row || heard > 0))
    say("was reported as not done, and was done");
  const answered = [...prompt.requestIds, ...(outcome ? [outcome] : [])];
  if (row && answered.some((id) => id !== row.requestId))
    say(`is ${row.requestId} and was reported as ${answered.join(", ")}`);
  if (outcome && !row) say(`was reported as ${outcome}, which is nowhere`);
  if (!row) return found;
  if (row.state !== "completed" && row.state !== "failed") say(`stays ${row.state}`);
  if (row.state === "completed" && heard === 0) say("completed unheard");
  if (row.state === "failed" && !row.errorDetail) say("failed without a reason");
  if (reported !== row.state) say(`is ${row.state} and is reported as ${reported ?? "not there"}`);
  return found;
}

/**
 * What is wrong with the mail: an accepted message arrives once, none twice, each sender's in the order sent.
 * Pure.
 */
export function mailProblems(sent: readonly SentMail[], arrived: readonly ArrivedMail[]): string[] {
  const found: string[] = [];
  const keyOf = ({ from, to, subject }: ArrivedMail) => `"${subject}" from ${from} to ${to}`;
  const order = new Map(sent.map((mail, at) => [keyOf(mail), at]));
  const counts = new Map<string, number>();
  const last = new Map<string, number>();
  for (const mail of arrived) {
    const key = keyOf(mail);
    const at = order.get(key);
    const times = (counts.get(key) ?? 0) + 1;
    counts.set(key, times);
    if (at === undefined) found.push(`${key} arrived and was never sent`);
    if (at === undefined || times > 1) continue;
    const way = `${mail.from} ${mail.to}`;
    if (at < (last.get(way) ?? -1)) found.push(`${key} arrived after one that was sent later`);
    last.set(way, Math.max(at, last.get(way) ?? -1));
  }
  for (const [key, times] of counts) if (times > 1) found.push(`${key} arrived ${times} times`);
  for (const mail of sent) {
    const hasArrived = counts.has(keyOf(mail));
    if (mail.answer === "accepted" && !hasArrived) found.push(`${keyOf(mail)} was accepted and is lost`);
    if (mail.answer === "refused" && hasArrived) found.push(`${keyOf(mail)} was refused and arrived`);
  }
  return found;
}

/** What the operator says of an agent. `answers`: it also answered a question that went to its host. */
export interface ListedAgent {
  address: string;
  liveness: string;
  hasGateway: boolean;
  hostIsAway: boolean;
  answers: boolean;
}

/**
 * The operator's list while no fault is present. `atMs`: since the last one was over; `agents`: null when no
 * list came.
 */
export interface RecoveryLook {
  atMs: number;
  agents: readonly ListedAgent[] | null;
}

/**
 * Since when every agent is listed as what it is, alive and with its gateway; null while one is not. Pure.
 */
export function recoveredSince(addresses: readonly string[], looks: readonly RecoveryLook[]): number | null {
  const lastWrong = looks.findLastIndex((look) => wrongIn(addresses, look).length > 0);
  return looks[lastWrong + 1]?.atMs ?? null;
}

/**
 * What is wrong with the list in a pause of the faults, during which all agents run and have their gateways:
 * within `limitMs` it says so and does not change any more. `looks`: all of the pause, oldest first. Pure.
 */
export function recoveryProblems(
  addresses: readonly string[],
  looks: readonly RecoveryLook[],
  limitMs: number,
): string[] {
  const since = recoveredSince(addresses, looks);
  if (since !== null && since <= limitMs) return [];
  const last = looks.findLast((look) => wrongIn(addresses, look).length > 0);
  if (!last) return ["nobody looked at the list"];
  return wrongIn(addresses, last).map((wrong) => `${wrong} ${Math.round(last.atMs)} ms after the last fault`);
}

function wrongIn(addresses: readonly string[], { agents }: RecoveryLook): string[] {
  if (agents === null) return ["the list did not come"];
  const unknown = agents.filter(({ address }) => !addresses.includes(address));
  const found = addresses.map((address) => {
    const [agent, ...more] = agents.filter((one) => one.address === address);
    if (!agent) return `${address} was not listed`;
    if (more.length > 0) return `${address} was listed ${more.length + 1} times`;
    if (agent.hostIsAway) return `${address} was listed as of a host that is away`;
    if (agent.liveness !== "alive") return `${address} was listed as ${agent.liveness}`;
    if (!agent.hasGateway) return `${address} was listed without a gateway`;
    return agent.answers ? null : `${address} was listed as alive and did not answer`;
  });
  return [
    ...found.filter((wrong) => wrong !== null),
    ...unknown.map(({ address }) => `${address} was listed and does not exist`),
  ];
}
