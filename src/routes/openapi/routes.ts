import { Elysia } from "elysia";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import type { OpenApiDocument } from "./document.ts";

/**
 * Serves an app's document. `load` brings the document's makers: they and its texts are evaluated at the first
 * request, and it is built once. The page that shows it to people is the console's.
 */
export function openApiRoutes(load: () => Promise<() => OpenApiDocument>) {
  let document: Promise<OpenApiDocument> | null = null;
  return new Elysia({ name: "openapi", seed: load }).get(documentEndpoints.openApiDocument.path, () => {
    document ??= load().then((build) => build());
    return document;
  });
}
