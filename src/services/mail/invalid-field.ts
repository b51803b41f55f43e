import { ServiceError } from "../../system/errors.ts";

/** A refusal of one field of a request, told like those of its schema (ruling 9). `loc`: from the body down. */
export function invalidField(loc: readonly (string | number)[], msg: string): ServiceError {
  const where = loc.length === 0 ? "" : `${loc.join(".")}: `;
  return new ServiceError("invalid_request", `${where}${msg}`, {
    data: { issues: [{ type: "value_error", loc: [...loc], msg }] },
  });
}

/** The result of `check`; what it refuses as `invalid_request` names the field. */
export function inField<T>(field: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "invalid_request") {
      throw invalidField([field], error.message);
    }
    throw error;
  }
}
