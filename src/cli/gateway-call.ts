import type { Endpoint, ResponseOf } from "../protocol/endpoint.ts";
import type { GatewayEndpoints } from "../protocol/endpoints.ts";
import type { CallRequest, CallResult } from "../services/fleet/gateway-client.ts";
import {
  type Answer,
  type Command,
  type CommandDeclaration,
  command,
  type Flags,
  type Invocation,
} from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { openLiveTarget } from "./target.ts";

/**
 * A leaf that makes one call to the agent's gateway and prints the answer. `request` reads the command line before the
 * gateway is looked up, so a usage error needs no running agent; without it the call has no parameters. `render`
 * returns the text, or the text with an exit code.
 */
export function readCommand<Name extends keyof GatewayEndpoints, const A extends Flags>({
  endpoint,
  request,
  render,
  ...declaration
}: Omit<CommandDeclaration<A>, "run"> & {
  endpoint: Name;
  request?: (invocation: Invocation<A>) => CallRequest<Name> | Promise<CallRequest<Name>>;
  render: (body: ResponseOf<GatewayEndpoints[Name]>) => string | Pick<Answer, "text" | "exitCode">;
}): Command {
  return command<A>({
    ...declaration,
    async run(invocation) {
      const call = request ? await request(invocation) : ({} as CallRequest<Name>);
      const { link } = await openLiveTarget(invocation as unknown as Invocation);
      const json = bodyOf<GatewayEndpoints[Name]>(await link.client.call(endpoint, call));
      const text = render(json);
      return typeof text === "string" ? { json, text } : { json, ...text };
    },
  });
}

/** The body of a successful call. Any other outcome ends the command with the gateway's message. */
export function bodyOf<E extends Endpoint>(
  response: CallResult<E>,
): Extract<CallResult<E>, { kind: "ok" }>["body"] {
  switch (response.kind) {
    case "ok":
      return response.body;
    case "refused":
      throw new CommandFailure(exitCodes.refused, response.detail, response.body);
    case "unreachable":
      throw new CommandFailure(exitCodes.unreachable, response.detail, {
        error: "unreachable",
        detail: response.detail,
      });
  }
}

/**
 * As `bodyOf`, for a call that must not be repeated: it may have arrived although its answer is missing. `look`: the
 * command that shows whether it did.
 */
export function acceptanceOf<E extends Endpoint>(
  response: CallResult<E>,
  look: string,
): Extract<CallResult<E>, { kind: "ok" }>["body"] {
  if (response.kind !== "unreachable" || !response.sent) return bodyOf(response);
  const detail = `whether it was accepted is not known: ${response.detail}. See: ${look}`;
  throw new CommandFailure(exitCodes.unreachable, detail, { error: "unknown", detail });
}
