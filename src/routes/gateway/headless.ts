import { Elysia } from "elysia";
import { turnArtifactEndpoints, turnEndpoints } from "../../protocol/turn-endpoints.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { artifactAnswer, toArtifactPart, turnEventsAnswer } from "../http/turn-answers.ts";
import type { GatewayServices } from "./services.ts";

/** Control of a headless agent and its durable turns (contract 4.1). */
export const headlessRoutes = ({ headless }: Pick<GatewayServices, "headless">) => {
  const artifact = (
    name: "stdout" | "stderr",
    turnId: string,
    { query, request }: { query: { offset: number; max_bytes?: number }; request: Request },
  ): Response => {
    const part = toArtifactPart(query);
    return artifactAnswer(found(headless.turns().artifact(turnId, name, part)), part, request.method);
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
      ({ params: { turn_id }, query, request }) => {
        const { tracked_agent_id } = found(headless.turns().read(turn_id));
        const events = found(headless.turns().events(turn_id, query.after));
        return turnEventsAnswer({ tracked_agent_id, turn_id }, events, query, request.method);
      },
      {
        query: turnEndpoints.turnEvents.query,
        transform: numbersIn(turnEndpoints.turnEvents.query),
        response: repliesOf(turnEndpoints.turnEvents),
      },
    )
    .get(
      turnArtifactEndpoints.turnStdout.path,
      ({ params, query, request }) => artifact("stdout", params.turn_id, { query, request }),
      {
        query: turnArtifactEndpoints.turnStdout.query,
        transform: numbersIn(turnArtifactEndpoints.turnStdout.query),
      },
    )
    .get(
      turnArtifactEndpoints.turnStderr.path,
      ({ params, query, request }) => artifact("stderr", params.turn_id, { query, request }),
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
