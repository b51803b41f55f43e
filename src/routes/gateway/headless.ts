import { Elysia } from "elysia";
import { turnArtifactEndpoints, turnEndpoints } from "../../protocol/turn-endpoints.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { plainText } from "../http/plain-text.ts";
import type { GatewayServices } from "./services.ts";

/** Control of a headless agent and its durable turns (contract 4.1). */
export const headlessRoutes = ({ headless }: Pick<GatewayServices, "headless">) => {
  const artifact = (
    turnId: string,
    name: "stdout" | "stderr",
    query: { offset: number; max_bytes: number },
  ): Response => {
    const part = { offset: query.offset, maxBytes: query.max_bytes };
    return plainText(found(headless.turns().artifact(turnId, name, part)));
  };
  return new Elysia({ name: "gateway-headless" })
    .use(jsonBody)
    .get(turnEndpoints.headlessState.path, () => headless.state(), {
      response: repliesOf(turnEndpoints.headlessState),
    })
    .post(turnEndpoints.nextPromptSession.path, () => headless.beginNewNext(), {
      ...takes(turnEndpoints.nextPromptSession),
      response: repliesOf(turnEndpoints.nextPromptSession),
    })
    .get(
      turnEndpoints.listTurns.path,
      ({ query }) => ({ schema_version: 1 as const, turns: headless.turns().list(query.limit) }),
      {
        query: turnEndpoints.listTurns.query,
        transform: numbersIn(turnEndpoints.listTurns.query),
        response: repliesOf(turnEndpoints.listTurns),
      },
    )
    .get(turnEndpoints.readTurn.path, ({ params }) => found(headless.turns().read(params.turn_id)), {
      response: repliesOf(turnEndpoints.readTurn),
    })
    .get(
      turnEndpoints.turnEvents.path,
      ({ params: { turn_id }, query }) => {
        const { tracked_agent_id } = found(headless.turns().read(turn_id));
        const entries = found(headless.turns().events(turn_id, query));
        return { tracked_agent_id, turn_id, entries };
      },
      {
        query: turnEndpoints.turnEvents.query,
        transform: numbersIn(turnEndpoints.turnEvents.query),
        response: repliesOf(turnEndpoints.turnEvents),
      },
    )
    .get(
      turnArtifactEndpoints.turnStdout.path,
      ({ params, query }) => artifact(params.turn_id, "stdout", query),
      {
        query: turnArtifactEndpoints.turnStdout.query,
        transform: numbersIn(turnArtifactEndpoints.turnStdout.query),
      },
    )
    .get(
      turnArtifactEndpoints.turnStderr.path,
      ({ params, query }) => artifact(params.turn_id, "stderr", query),
      {
        query: turnArtifactEndpoints.turnStderr.query,
        transform: numbersIn(turnArtifactEndpoints.turnStderr.query),
      },
    );
};

function found<T>(value: T | null): T {
  if (value === null) throw new ServiceError("not_found", "no turn with this id");
  return value;
}
