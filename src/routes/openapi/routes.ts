import { Elysia } from "elysia";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import type { OpenApiDocument } from "./document.ts";

/**
 * Serves the OpenAPI document of an app. The first request loads the builder and builds the document once.
 * The console serves the page that shows it.
 */
export function openApiRoutes(load: () => Promise<() => OpenApiDocument>) {
  let document: Promise<OpenApiDocument> | null = null;
  return new Elysia({ name: "openapi", seed: load }).get(documentEndpoints.openApiDocument.path, () => {
    document ??= load().then((build) => build());
    return document;
  });
}
