/**
 * Whose agents this page shows: the server writes it into the page. At a gateway the console has its one
 * agent, and asks the same operations under `/v1`.
 */
export const atGateway: boolean =
  document.querySelector<HTMLMetaElement>('meta[name="surface"]')?.content === "gateway";
