import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DeliveryRules } from "../src/protocol/delivery.ts";
import { renderJson } from "../src/protocol/json.ts";
import { TeamFile } from "../src/protocol/team-file.ts";
import { coordinatorOpenApi, gatewayOpenApi } from "../src/routes/openapi/documents.ts";
import { readArguments, readFolder } from "./arguments.ts";
import { repositoryRoot } from "./bootstrap.ts";
import { renderCommandsPage } from "./commands-page.ts";
import { listDocuments, readBlocks } from "./documents.ts";
import { renderFaultTable } from "./fault-table.ts";
import { renderNotRun } from "./not-run.ts";
import { renderPicture } from "./record/picture.ts";
import recording from "./record/recording.json";
import type { Recording } from "./record/story.ts";
import { renderReference } from "./reference.ts";
import { renderWalks } from "./walks-page.ts";

const usage = `
Usage: bun run docs [FOLDER]

Writes the generated documents into docs/, or into FOLDER.
`;

const folder = resolve(repositoryRoot, readArguments(usage, readFolder) ?? "docs");
mkdirSync(folder, { recursive: true });
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

write("openapi.gateway.json", renderJson(gatewayOpenApi()));
write("openapi.coordinator.json", renderJson(coordinatorOpenApi()));
write(
  "svc.schema.json",
  renderJson({ $schema: "https://json-schema.org/draft/2020-12/schema", ...TeamFile }),
);
write(
  "deliveries.schema.json",
  renderJson({ $schema: "https://json-schema.org/draft/2020-12/schema", ...DeliveryRules }),
);
write("reference.md", await renderReference());
write("commands.md", await renderCommandsPage());
write("faults.md", await renderFaultTable());
write("not-run.md", renderNotRun(listDocuments().flatMap(readBlocks)));
write("walks.md", await renderWalks());
write("session.svg", renderPicture(recording as Recording));
