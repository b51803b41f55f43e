import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderJson } from "../src/protocol/json.ts";
import { coordinatorOpenApi } from "../src/routes/coordinator/openapi.ts";
import { gatewayOpenApi } from "../src/routes/gateway/openapi.ts";
import { repositoryRoot } from "./bootstrap.ts";
import { renderReference } from "./reference.ts";

// Writes the generated documents into docs/, or into the folder named by the first argument.

const folder = resolve(repositoryRoot, process.argv[2] ?? "docs");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "openapi.gateway.json"), renderJson(gatewayOpenApi()));
writeFileSync(join(folder, "openapi.coordinator.json"), renderJson(coordinatorOpenApi()));
writeFileSync(join(folder, "reference.md"), await renderReference());
