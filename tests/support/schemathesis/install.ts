import { join } from "node:path";
import { installPythonPackage } from "../foreign-packages.ts";

/**
 * The executable of schemathesis. Exactly this version: another may have more checks or other random values
 * for a seed.
 */
export async function installSchemathesis(): Promise<string> {
  const bin = await installPythonPackage({
    purpose: "the schema-driven fuzzer",
    name: "schemathesis",
    version: "4.32.5",
  });
  return join(bin, "st");
}
