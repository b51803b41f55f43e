import { Value } from "@sinclair/typebox/value";
import { IdempotencyKey, idempotencyHeader } from "../../protocol/wire.ts";
import { ServiceError } from "../../system/errors.ts";

/** The key that a caller gives its piece of work; undefined for none. Throws `invalid_request` for what is no key. */
export function idempotencyKeyOf({ headers }: Pick<Request, "headers">): string | undefined {
  const key = headers.get(idempotencyHeader);
  if (key === null) return undefined;
  if (Value.Check(IdempotencyKey, key)) return key;
  throw new ServiceError("invalid_request", "Idempotency-Key: 1 to 128 letters, digits and _ . : -");
}
