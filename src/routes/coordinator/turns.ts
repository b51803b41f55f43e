import { Elysia } from "elysia";
import {
  coordinatorEndpoints as endpoints,
  coordinatorStreams as streams,
} from "../../protocol/coordinator-endpoints.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { plainText } from "../http/plain-text.ts";
import { bodyOf } from "./agents.ts";
import type { CoordinatorServices } from "./services.ts";

/** Durable turns of headless agents (contract 4.4). */
export const turnRoutes = ({ turns }: Pick<CoordinatorServices, "turns">) => {
  const artifact = async (
    { agent_ref, turn_id }: { agent_ref: string; turn_id: string },
    name: "stdout" | "stderr",
    { offset, max_bytes }: { offset: number; max_bytes: number },
  ) => plainText(await turns.artifact(agent_ref, turn_id, name, { offset, maxBytes: max_bytes }));
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
      ({ params, query }) => turns.events(params.agent_ref, params.turn_id, query),
      {
        query: endpoints.agentTurnEvents.query,
        transform: numbersIn(endpoints.agentTurnEvents.query),
        response: repliesOf(endpoints.agentTurnEvents),
      },
    )
    .get(streams.agentTurnStdout.path, ({ params, query }) => artifact(params, "stdout", query), {
      query: streams.agentTurnStdout.query,
      transform: numbersIn(streams.agentTurnStdout.query),
    })
    .get(streams.agentTurnStderr.path, ({ params, query }) => artifact(params, "stderr", query), {
      query: streams.agentTurnStderr.query,
      transform: numbersIn(streams.agentTurnStderr.query),
    })
    .post(endpoints.interruptAgent.path, ({ params }) => turns.interrupt(params.agent_ref), {
      response: repliesOf(endpoints.interruptAgent),
    });
};
