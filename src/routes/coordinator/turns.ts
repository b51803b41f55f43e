import { Elysia } from "elysia";
import {
  coordinatorEndpoints as endpoints,
  coordinatorStreams as streams,
} from "../../protocol/coordinator-endpoints.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { artifactAnswer, toArtifactPart, turnEventsAnswer } from "../http/turn-answers.ts";
import { bodyOf } from "./agents.ts";
import type { CoordinatorServices } from "./services.ts";

/** Durable turns of headless agents (contract 4.4). */
export const turnRoutes = ({ turns }: Pick<CoordinatorServices, "turns">) => {
  const artifact = async (
    name: "stdout" | "stderr",
    { agent_ref, turn_id }: { agent_ref: string; turn_id: string },
    { query, request }: { query: { offset: number; max_bytes?: number }; request: Request },
  ) => {
    const part = toArtifactPart(query);
    return artifactAnswer(await turns.artifact(agent_ref, turn_id, name, part), part, request.method);
  };
  return new Elysia({ name: "coordinator-turns" })
    .use(jsonBody)
    .post(
      endpoints.submitTurn.path,
      async ({ params, body }) => bodyOf(await turns.submit(params.agent_ref, body)),
      {
        ...takes(endpoints.submitTurn),
        response: repliesOf(endpoints.submitTurn),
      },
    )
    .get(endpoints.readAgentTurn.path, ({ params }) => turns.read(params.agent_ref, params.turn_id), {
      response: repliesOf(endpoints.readAgentTurn),
    })
    .get(
      endpoints.agentTurnEvents.path,
      async ({ params: { agent_ref, turn_id }, query, request }) => {
        const { trackedId, events } = await turns.events(agent_ref, turn_id, query.after);
        return turnEventsAnswer({ tracked_agent_id: trackedId, turn_id }, events, query, request.method);
      },
      {
        query: endpoints.agentTurnEvents.query,
        transform: numbersIn(endpoints.agentTurnEvents.query),
        response: repliesOf(endpoints.agentTurnEvents),
      },
    )
    .get(
      streams.agentTurnStdout.path,
      ({ params, query, request }) => artifact("stdout", params, { query, request }),
      {
        query: streams.agentTurnStdout.query,
        transform: numbersIn(streams.agentTurnStdout.query),
      },
    )
    .get(
      streams.agentTurnStderr.path,
      ({ params, query, request }) => artifact("stderr", params, { query, request }),
      {
        query: streams.agentTurnStderr.query,
        transform: numbersIn(streams.agentTurnStderr.query),
      },
    )
    .post(endpoints.interruptAgent.path, ({ params }) => turns.interrupt(params.agent_ref), {
      response: repliesOf(endpoints.interruptAgent),
    });
};
