import { Elysia } from "elysia";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import type { OpenApiDocument } from "./document.ts";

const { openApiDocument, referencePage } = documentEndpoints;

/**
 * Serves an app's document, to programs and as a page. `load` brings the document's makers: they and its
 * texts are evaluated at the first request of either, and each is built once.
 */
export function openApiRoutes(load: () => Promise<() => OpenApiDocument>) {
  let document: Promise<OpenApiDocument> | null = null;
  let page: Promise<{ html: string; headers: Record<string, string> }> | null = null;
  const built = () => {
    document ??= load().then((build) => build());
    return document;
  };
  return new Elysia({ name: "openapi", seed: load })
    .get(openApiDocument.path, () => built())
    .get(referencePage.path, async () => {
      page ??= built().then(toPage);
      const { html, headers } = await page;
      return new Response(html, { headers });
    });
}

async function toPage(document: OpenApiDocument) {
  const { pageScript, renderReference } = await import("./page.ts");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pageScript));
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return {
    html: renderReference(document),
    headers: {
      "content-type": "text/html; charset=utf-8",
      // The page carries its style and its one script; whatever else it might come to name is not loaded and
      // not run.
      "content-security-policy": `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:`,
    },
  };
}
