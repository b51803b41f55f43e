import { type Answer, field, type Submission } from "./product.ts";

/** Svc: 202 is a stored request. Throws for an answer that is neither that nor a refusal. */
export const submissionOfSvc = (answer: Answer): Submission =>
  answer.status === 202 ? "accepted" : refusal(answer);

/** CAO: `success` says that the message is stored. */
export const submissionOfCao = (answer: Answer): Submission =>
  answer.status === 200 && field(answer.body, "success") === true ? "accepted" : refusal(answer);

/** Agentapi: `ok` says that the agent was seen to begin. */
export const submissionOfAgentapi = (answer: Answer): Submission =>
  answer.status === 200 && field(answer.body, "ok") === true ? "accepted" : refusal(answer);

function refusal({ status, body }: Answer): Submission {
  if (status >= 400 && status <= 599) return "refused";
  throw new Error(`unknown answer to a prompt: ${status} ${JSON.stringify(body)}`);
}

/** Svc: the terminal takes a prompt and nothing is queued. */
export function isSvcIdle({ body }: Answer): boolean {
  const surface = field(body, "terminal_surface_eligibility");
  if (typeof surface !== "string") throw unknownStatus("svc", body);
  return surface === "ready" && field(body, "queue_depth") === 0;
}

const caoStates = ["unknown", "idle", "processing", "completed", "waiting_user_answer", "error"];

/** CAO: `completed` is idle after a turn. */
export function isCaoIdle({ body }: Answer): boolean {
  const status = field(body, "status");
  if (typeof status !== "string" || !caoStates.includes(status)) throw unknownStatus("cao", body);
  return status === "idle" || status === "completed";
}

/** Agentapi: `stable` is a screen that no longer changes. */
export function isAgentapiIdle({ body }: Answer): boolean {
  const status = field(body, "status");
  if (status !== "stable" && status !== "running") throw unknownStatus("agentapi", body);
  return status === "stable";
}

const unknownStatus = (product: string, body: unknown) =>
  new Error(`unknown status of ${product}: ${JSON.stringify(body)}`);

/** Claude Code asks whether a tool may run: the first choice of its question is selected. */
export function asksPermission(screen: string): boolean {
  return /❯ 1\. Yes/.test(screen);
}
