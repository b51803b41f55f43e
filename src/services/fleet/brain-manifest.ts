import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { messageOf, ServiceError } from "../../system/errors.ts";

const open = { additionalProperties: true } as const;

/** The parts of a brain manifest, schema 3, that a headless launch reads. Source: spec/coordination.md. */
const BrainManifest = Type.Object(
  {
    schema_version: Type.Literal(3),
    inputs: Type.Object({ tool: Type.String(), role_prompt_text: Type.Optional(Type.String()) }, open),
    launch_policy: Type.Optional(Type.Object({ operator_prompt_mode: Type.Optional(Type.String()) }, open)),
    runtime: Type.Optional(
      Type.Object(
        {
          launch_home_selector: Type.Optional(
            Type.Object({ env_var: Type.Optional(Type.String()), value: Type.Optional(Type.String()) }, open),
          ),
          launch_contract: Type.Optional(
            Type.Object(
              {
                adapter_defaults: Type.Optional(
                  Type.Object({ args: Type.Optional(Type.Array(Type.String())) }, open),
                ),
              },
              open,
            ),
          ),
        },
        open,
      ),
    ),
  },
  open,
);

/** What a brain manifest asks of a launch. */
export interface Brain {
  tool: string;
  rolePrompt: string | null;
  /** Only where it says so itself: flags that skip permissions are never a default (ruling 19). */
  unattended: boolean;
  home: string | null;
  args: string[];
}

/** Reads YAML or JSON. Throws `invalid_request` with what does not fit. Pure. */
export function parseBrainManifest(text: string): Brain {
  let value: unknown;
  try {
    value = Bun.YAML.parse(text);
  } catch (error) {
    throw new ServiceError("invalid_request", `brain_manifest_path: ${messageOf(error)}`);
  }
  if (!Value.Check(BrainManifest, value)) {
    const first = Value.Errors(BrainManifest, value).First();
    throw new ServiceError(
      "invalid_request",
      `brain_manifest_path: not a brain manifest of schema 3, at ${first?.path || "/"}`,
    );
  }
  const { inputs, launch_policy, runtime } = value;
  return {
    tool: inputs.tool,
    rolePrompt: inputs.role_prompt_text ?? null,
    unattended: launch_policy?.operator_prompt_mode === "unattended",
    home: runtime?.launch_home_selector?.value ?? null,
    args: runtime?.launch_contract?.adapter_defaults?.args ?? [],
  };
}
