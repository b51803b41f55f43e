import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderJson } from "../src/protocol/json.ts";
import { coordinatorOpenApi } from "../src/routes/coordinator/openapi.ts";
import { gatewayOpenApi } from "../src/routes/gateway/openapi.ts";
import { type ApiDocument, renderApiPage } from "./api/page.ts";
import { repositoryRoot } from "./bootstrap.ts";
import { renderCommandsPage } from "./commands-page.ts";
import { listDocuments, readBlocks } from "./documents.ts";
import { renderFaultTable } from "./fault-table.ts";
import { renderNotRun } from "./not-run.ts";
import { renderPicture } from "./record/picture.ts";
import recording from "./record/recording.json";
import type { Recording } from "./record/story.ts";
import { renderReference } from "./reference.ts";

// Writes the generated documents into docs/, or into the folder named by the first argument.

const folder = resolve(repositoryRoot, process.argv[2] ?? "docs");
mkdirSync(folder, { recursive: true });
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

const gateway = gatewayOpenApi();
const coordinator = coordinatorOpenApi();
write("openapi.gateway.json", renderJson(gateway));
write("openapi.coordinator.json", renderJson(coordinator));
write("reference.md", await renderReference());
write("commands.md", await renderCommandsPage());

const gatewayDocument = gateway as unknown as ApiDocument;
write(
  "api-gateway.md",
  renderApiPage(gatewayDocument, {
    title: "HTTP API of a gateway",
    about:
      "The same as a machine reads it: [openapi.gateway.json](openapi.gateway.json). A running gateway serves its own " +
      "at `/openapi.json` and, as a page, at `/docs`. `svc-mgr agents list` shows the addresses.",
  }),
);
write(
  "api-coordinator.md",
  renderApiPage(coordinator as unknown as ApiDocument, {
    title: "HTTP API of the coordination server",
    about:
      "The same as a machine reads it: [openapi.coordinator.json](openapi.coordinator.json); a running server serves it " +
      "at `/openapi.json` and, as a page, at `/docs`. `agent_ref` is any name or id of an agent.",
    elsewhere: { document: gatewayDocument, page: "api-gateway.md", title: "of a gateway" },
  }),
);
write("faults.md", await renderFaultTable());
write("not-run.md", renderNotRun(listDocuments().flatMap(readBlocks)));
write("session.svg", renderPicture(recording as Recording));
