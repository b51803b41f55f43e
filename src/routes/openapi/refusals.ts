import type { Endpoint } from "../../protocol/endpoint.ts";
import { ErrorBody } from "../../protocol/wire.ts";
import { maxBodyBytes, openPaths } from "../http/gate.ts";
import type { Refusal } from "./document.ts";

/** What every server of ours may answer before an operation is looked at. */
export function gateRefusals(): Refusal[] {
  const refusal = (
    status: number,
    description: string,
    appliesTo: (endpoint: Endpoint) => boolean,
  ): Refusal => ({ status, description, schema: ErrorBody, appliesTo });
  const withBody = ({ body }: Endpoint) => body !== null;
  return [
    refusal(401, "A bearer token is needed and was not shown", ({ path }) => !openPaths.has(path)),
    refusal(403, "A page of another origin may not call", () => true),
    refusal(413, `The body is larger than ${maxBodyBytes} bytes`, withBody),
    refusal(415, "The body is not application/json", withBody),
    refusal(421, "This host name is not served here", () => true),
    refusal(500, "An unforeseen fault; its error_id is in the log", () => true),
  ];
}
