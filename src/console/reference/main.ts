import "swagger-ui-dist/swagger-ui.css";
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-bundle.js";

SwaggerUIBundle({
  dom_id: "#reference",
  url: "openapi.json",
  // Nothing is asked of another server.
  validatorUrl: null,
  deepLinking: true,
  filter: true,
  // The schemas of both documents are hundreds: they are shown when a person opens them.
  defaultModelsExpandDepth: 0,
});
