import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import type { NotePromptRequest } from "../../protocol/gateway.ts";
import { maxListed } from "../../protocol/wire.ts";
import { chatSessionProblem } from "../../services/agent/chat-session-problem.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { refusalStatus } from "./refusals.ts";
import type { CoreServices } from "./services.ts";

const endpoints = coreEndpoints;

/** Direct prompts, raw keys, the tracked terminal and reconciliation (contract 4.1, 4.2; ruling 5). */
export const controlRoutes = ({
  prompt,
  keys,
  agent,
  board,
}: Pick<CoreServices, "prompt" | "keys" | "agent" | "board">) =>
  new Elysia({ name: "gateway-control" })
    .use(jsonBody)
    .post(
      endpoints.controlPrompt.path,
      async ({ body, status }) => {
        const result = await prompt.submit(body);
        return result.sent ? result : status(refusalStatus[result.error_code], { detail: result });
      },
      {
        ...takes(endpoints.controlPrompt),
        response: repliesOf(endpoints.controlPrompt),
      },
    )
    .post(endpoints.sendKeys.path, ({ body }) => keys.send(body), {
      ...takes(endpoints.sendKeys),
      response: repliesOf(endpoints.sendKeys),
    })
    .get(endpoints.terminalState.path, () => tracked(agent.terminalState()), {
      response: repliesOf(endpoints.terminalState),
    })
    .get(endpoints.terminalHistory.path, ({ query }) => tracked(agent.terminalHistory(query.limit)), {
      query: endpoints.terminalHistory.query,
      transform: numbersIn(endpoints.terminalHistory.query),
      response: repliesOf(endpoints.terminalHistory),
    })
    .post(endpoints.notePrompt.path, ({ body }) => tracked(agent.notePrompt(promptOf(body))), {
      ...takes(endpoints.notePrompt),
      response: repliesOf(endpoints.notePrompt),
    })
    .get(endpoints.explain.path, () => tracked(agent.explain()), {
      response: repliesOf(endpoints.explain),
    })
    .get(
      endpoints.wait.path,
      async ({ query, request }) => {
        const outcome = await agent.waitFor(query.for, {
          timeoutMs: query.timeout_seconds * 1000,
          signal: request.signal,
        });
        const { satisfied, waitedMs, state } = tracked(outcome);
        const waited_seconds = Math.round(waitedMs) / 1000;
        return { schema_version: 1 as const, for: query.for, satisfied, waited_seconds, state };
      },
      {
        query: endpoints.wait.query,
        transform: numbersIn(endpoints.wait.query),
        response: repliesOf(endpoints.wait),
      },
    )
    .post(
      endpoints.decide.path,
      async ({ body }) => ({
        status: "ok" as const,
        action: "decide" as const,
        option: await agent.decide(body),
      }),
      {
        ...takes(endpoints.decide),
        response: repliesOf(endpoints.decide),
      },
    )
    .post(
      endpoints.reconcile.path,
      () => {
        const failed_request_ids = board.reconcile().slice(0, maxListed);
        return {
          schema_version: 1 as const,
          managed_agent_instance_epoch: board.epoch(),
          failed_request_ids,
        };
      },
      { response: repliesOf(endpoints.reconcile) },
    );

/** Of the whole submission only the prompt is read; what can never be meant is refused as with a submission. */
function promptOf({ prompt, chat_session }: Static<typeof NotePromptRequest>): string {
  const problem = chatSessionProblem(chat_session);
  if (problem) throw new ServiceError("invalid_request", `chat_session: invalid_chat_session: ${problem}`);
  return prompt;
}

function tracked<T>(value: T | null): T {
  if (value === null) throw new ServiceError("unsupported", "this backend has no tracked terminal");
  return value;
}
