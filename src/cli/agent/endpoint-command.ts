import type { TObject } from "@sinclair/typebox";
import { type Endpoint, pathParameters, type ResponseOf } from "../../protocol/endpoint.ts";
import { type GatewayEndpoints, gatewayEndpoints } from "../../protocol/endpoints.ts";
import type { Advise } from "../../protocol/remedy.ts";
import type { CallRequest } from "../../services/fleet/gateway-client.ts";
import {
  type Answer,
  type Caller,
  type Command,
  type CommandDeclaration,
  command,
  type Flags,
  type Invocation,
} from "../command-line/command.ts";
import { type Differences, type FieldFlag, fieldFlags } from "../command-line/field-flags.ts";
import { readId } from "../command-line/flag-values.ts";
import { bodyOf, type LiveLink, openLiveTarget, type Target } from "./target.ts";

/** The fields of an endpoint's query, else of its body. */
type FieldOf<E extends Endpoint> =
  E["query"] extends TObject<infer Properties>
    ? keyof Properties
    : E["body"] extends TObject<infer Properties>
      ? keyof Properties
      : never;

/**
 * A leaf that makes one call to the agent's gateway and prints the answer. Its flags are the fields of the
 * endpoint's query and body, with their ranges and help; a part of the path is a positional; its help is the
 * endpoint's summary. The command line is read before the gateway is looked up, so a usage error needs no
 * running agent.
 */
export function endpointCommand<
  Name extends keyof GatewayEndpoints,
  const A extends Flags = Record<never, never>,
>(
  name: Name,
  overrides: Omit<CommandDeclaration<A>, "run" | "description"> & {
    description?: string;
    /** Where a flag differs from its field; null leaves a field, or all of them, without a flag. */
    fields?: { readonly [Field in FieldOf<GatewayEndpoints[Name]>]?: FieldFlag | null } | null;
    /** Fields of the body that the flags in `args` say. */
    body?: (
      invocation: Invocation<A>,
    ) => Partial<CallRequest<Name>["body"]> | Promise<Partial<CallRequest<Name>["body"]>>;
    timeoutMs?: number;
    /** The text, or the text with an exit code. `advise`: for this agent. */
    render: (
      body: ResponseOf<GatewayEndpoints[Name]>,
      advise: Advise,
    ) => string | Pick<Answer, "text" | "exitCode">;
    /** Throws where the caller may not make the call. */
    allow?: (caller: Caller, live: Target & { link: LiveLink }) => Promise<void>;
  },
): Command {
  const { fields, args, body, timeoutMs, render, allow, ...declaration } = overrides;
  const endpoint: Endpoint = gatewayEndpoints[name];
  const schema = (endpoint.query ?? endpoint.body) as TObject | null;
  const given = schema && fields !== null ? fieldFlags(schema, (fields ?? {}) as Differences<TObject>) : null;
  const parameter = /:([a-z_]+)/.exec(endpoint.path)?.[1];
  const version: unknown = endpoint.body?.["properties"]?.schema_version?.const;
  const positional: Flags =
    parameter === undefined
      ? {}
      : { id: { type: "positional", description: pathParameters[parameter]?.description ?? parameter } };
  return command<Flags, Answer>({
    ...declaration,
    description: declaration.description ?? decapitalize(endpoint.summary),
    args: { ...positional, ...(given?.flags as Flags | undefined), ...args },
    async run(invocation) {
      const read = given?.read(invocation.args) ?? {};
      const more = await body?.(invocation as unknown as Invocation<A>);
      const call = {
        ...(parameter === undefined
          ? {}
          : { params: { [parameter]: readId(String(invocation.args["id"] ?? ""), invocation.path) } }),
        ...(endpoint.query ? { query: read } : {}),
        ...(endpoint.body
          ? { body: { ...(version === undefined ? {} : { schema_version: version }), ...read, ...more } }
          : {}),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      };
      const live = await openLiveTarget(invocation);
      await allow?.(invocation, live);
      const response = await live.link.client.call(name, call as unknown as CallRequest<Name>);
      const json = bodyOf<GatewayEndpoints[Name]>(response);
      const text = render(json, live.advise);
      return typeof text === "string" ? { json, text } : { json, ...text };
    },
  });
}

const decapitalize = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
