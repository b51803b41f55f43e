import { Elysia, t } from "elysia";
import { gatewayEndpoints } from "../../protocol/endpoints.ts";
import { PromptRefusalBody } from "../../protocol/gateway.ts";
import { WaitFor } from "../../protocol/terminal.ts";
import { ErrorBody, ValidationErrorBody } from "../../protocol/wire.ts";
import { ServiceError } from "../../system/errors.ts";
import { jsonBody } from "../http/json-body.ts";
import { refusalStatus } from "./refusals.ts";
import type { GatewayServices } from "./services.ts";

const endpoints = gatewayEndpoints;

/** Direct prompts, raw keys, the tracked terminal and reconciliation (contract 4.1, 4.2; ruling 5). */
export const controlRoutes = ({
  prompt,
  keys,
  agent,
  board,
}: Pick<GatewayServices, "prompt" | "keys" | "agent" | "board">) =>
  new Elysia({ name: "gateway-control" })
    .use(jsonBody)
    .post(
      endpoints.controlPrompt.path,
      async ({ body, status }) => {
        const result = await prompt.submit(body);
        return result.sent ? result : status(refusalStatus[result.error_code], { detail: result });
      },
      {
        parse: "limitedJson",
        body: endpoints.controlPrompt.body,
        response: {
          200: endpoints.controlPrompt.reply,
          409: PromptRefusalBody,
          422: t.Union([PromptRefusalBody, ValidationErrorBody]),
          501: PromptRefusalBody,
          503: PromptRefusalBody,
        },
      },
    )
    .post(endpoints.sendKeys.path, ({ body }) => keys.send(body), {
      parse: "limitedJson",
      body: endpoints.sendKeys.body,
      response: {
        200: endpoints.sendKeys.reply,
        409: ErrorBody,
        422: t.Union([ErrorBody, ValidationErrorBody]),
        503: ErrorBody,
      },
    })
    .get(endpoints.terminalState.path, () => tracked(agent.terminalState()), {
      response: { 200: endpoints.terminalState.reply, 422: ErrorBody },
    })
    .get(endpoints.terminalHistory.path, ({ query }) => tracked(agent.terminalHistory(query.limit)), {
      query: t.Object(
        { limit: t.Numeric({ minimum: 1, maximum: 1000, multipleOf: 1, default: 100 }) },
        { additionalProperties: false },
      ),
      response: { 200: endpoints.terminalHistory.reply, 422: t.Union([ErrorBody, ValidationErrorBody]) },
    })
    .post(endpoints.notePrompt.path, ({ body }) => tracked(agent.notePrompt(body.prompt)), {
      parse: "limitedJson",
      body: endpoints.notePrompt.body,
      response: { 200: endpoints.notePrompt.reply, 422: t.Union([ErrorBody, ValidationErrorBody]) },
    })
    .get(endpoints.explain.path, () => tracked(agent.explain()), {
      response: { 200: endpoints.explain.reply, 422: ErrorBody },
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
        query: t.Object(
          { for: WaitFor, timeout_seconds: t.Numeric({ minimum: 0, maximum: 3600, default: 30 }) },
          { additionalProperties: false },
        ),
        response: { 200: endpoints.wait.reply, 422: t.Union([ErrorBody, ValidationErrorBody]) },
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
        parse: "limitedJson",
        body: endpoints.decide.body,
        response: {
          200: endpoints.decide.reply,
          409: ErrorBody,
          422: t.Union([ErrorBody, ValidationErrorBody]),
          503: ErrorBody,
        },
      },
    )
    .post(
      endpoints.reconcile.path,
      () => {
        const failed_request_ids = board.reconcile();
        return {
          schema_version: 1 as const,
          managed_agent_instance_epoch: board.epoch(),
          failed_request_ids,
        };
      },
      { response: { 200: endpoints.reconcile.reply } },
    );

function tracked<T>(value: T | null): T {
  if (value === null) throw new ServiceError("unsupported", "this backend has no tracked terminal");
  return value;
}
