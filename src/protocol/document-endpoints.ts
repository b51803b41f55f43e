import { Type } from "@sinclair/typebox";
import { endpoint } from "./endpoint.ts";

/** The routes by which each of our servers describes itself. */
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
