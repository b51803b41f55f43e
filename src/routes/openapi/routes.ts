import { Elysia } from "elysia";
import { documentEndpoints } from "../../protocol/document-endpoints.ts";
import type { OpenApiDocument } from "./document.ts";
import { renderReference } from "./page.ts";

const { openApiDocument, referencePage } = documentEndpoints;

/** Serves an app's document, to programs and to people. Each is built at its first request, once. */
export function openApiRoutes(build: () => OpenApiDocument) {
  let document: OpenApiDocument | null = null;
  let page: string | null = null;
  const built = () => {
    document ??= build();
    return document;
  };
  const headers = {
    "content-type": "text/html; charset=utf-8",
    // The page carries its style; whatever else it might come to name is not loaded.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  };
  return new Elysia({ name: "openapi", seed: build })
    .get(openApiDocument.path, () => built())
    .get(referencePage.path, () => {
      page ??= renderReference(built());
      return new Response(page, { headers });
    });
}
