import { Type } from "@sinclair/typebox";
import { endpoint } from "./endpoint.ts";

/** What each of our servers tells about itself, beside its own routes. */
export const documentEndpoints = {
  openApiDocument: endpoint({
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    status: 200,
    reply: Type.Record(Type.String(), Type.Unknown(), { description: "OpenAPI 3.1" }),
  }),
  referencePage: endpoint({
    method: "GET",
    path: "/docs",
    summary: "This document as a page for people",
    description: "One page that loads nothing from elsewhere.",
    status: 200,
    reply: Type.String({ contentMediaType: "text/html" }),
  }),
} as const;
