import type { TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";

/** Whether a value fits a schema. */
export type SchemaCheck = (schema: TSchema, value: unknown) => boolean;

/** To compile a check takes as long as this many checks of a snapshot without. */
const compileAfter = 20;

/** For who checks many values with the same few schemas, as a look at a hundred agents does. */
export function createCompiledChecks(): SchemaCheck {
  const uses = new Map<TSchema, number>();
  const compiled = new Map<TSchema, (value: unknown) => boolean>();
  return (schema, value) => {
    const check = compiled.get(schema);
    if (check) return check(value);
    const count = (uses.get(schema) ?? 0) + 1;
    uses.set(schema, count);
    if (count < compileAfter) return Value.Check(schema, value);
    const made = TypeCompiler.Compile(schema);
    compiled.set(schema, (one) => made.Check(one));
    return made.Check(value);
  };
}
