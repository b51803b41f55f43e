import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/**
 * The routes of every gateway check by the same schemas, and making a check of one takes longer than all else
 * that a gateway does in its first hour: in a process that starts thousands of gateways each is made once.
 */
export function compileSchemasOnce(): void {
  const compile = TypeCompiler.Compile;
  const made = new Map<string, TypeCheck<TSchema>>();
  TypeCompiler.Compile = ((schema: TSchema, references?: TSchema[]) => {
    if (references && references.length > 0) return compile(schema, references);
    const key = JSON.stringify(schema);
    const found = made.get(key) ?? compile(schema);
    made.set(key, found);
    return found;
  }) as typeof compile;
}
