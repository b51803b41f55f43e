/** The part of its options that is used; all are in its docs/usage/configuration.md. */
declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  export default function SwaggerUIBundle(options: {
    dom_id: string;
    url: string;
    validatorUrl: null;
    deepLinking: boolean;
    filter: boolean;
    defaultModelsExpandDepth: number;
  }): void;
}
